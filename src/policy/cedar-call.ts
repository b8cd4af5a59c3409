import type { CedarValueJson, EntityJson, StatefulAuthorizationCall, TypeAndId } from "@cedar-policy/cedar-wasm/nodejs";
import { assertNever, type JsonObject, type JsonValue, type PathFact, type Permission } from "../domain/index.ts";
import type { AuthorizationRequest } from "./authorization-request.ts";
import { protectionOfPath } from "./path-class.ts";

/** What Cedar is asked, without the names under which schema and policies are compiled. */
export type CedarQuestion = Pick<
  StatefulAuthorizationCall,
  "principal" | "action" | "resource" | "context" | "entities"
>;

const uid = (type: string, id: string): TypeAndId => ({ type, id });
const entity = (self: TypeAndId, parents: readonly TypeAndId[]): EntityJson => ({
  uid: self,
  attrs: {},
  parents: [...parents],
});

/** AUD-19: `admin` in `maintain` in `write` in `read`; `none` stands alone. */
const roleAbove: Readonly<Record<Permission, readonly Permission[]>> = {
  admin: ["maintain"],
  maintain: ["write"],
  write: ["read"],
  read: [],
  none: [],
};
const roles: readonly EntityJson[] = Object.entries(roleAbove).map(([role, above]) =>
  entity(
    uid("Role", role),
    above.map((name) => uid("Role", name)),
  ),
);

/**
 * Builds Cedar's request and entities from plain facts: `Run` in `User` in `Role`, `File` in `Folder` in `Repository`.
 * Keys stand in one order, so that the same facts give the same bytes. Throws where a fact can't be told to Cedar.
 */
export function toCedarQuestion(request: AuthorizationRequest): CedarQuestion {
  const { principal, principals } = principalOf(request);
  const requester = uid("User", request.requestedBy.id);
  const resource = resourceOf(request);
  const people = [entity(requester, [uid("Role", request.requestedBy.permission)])];
  const known = principals.filter((item) => !sameUid(item.uid as TypeAndId, requester));
  return {
    principal,
    action: uid("Action", request.tool),
    resource: resource.self,
    context: contextOf(request, requester),
    entities: [...roles, ...people, ...known, ...resource.entities],
  };
}

const sameUid = (one: TypeAndId, other: TypeAndId): boolean => one.type === other.type && one.id === other.id;

function principalOf(request: AuthorizationRequest): { principal: TypeAndId; principals: readonly EntityJson[] } {
  const { principal, requestedBy } = request;
  switch (principal.kind) {
    case "run": {
      const self = uid("Run", principal.runId);
      return { principal: self, principals: [entity(self, [uid("User", requestedBy.id)])] };
    }
    case "system": {
      const self = uid("System", "countersign");
      return { principal: self, principals: [entity(self, [])] };
    }
    case "person": {
      const { person } = principal;
      // One person, two answers from GitHub: the later one, asked for this very request, is the one that counts (AUD-37).
      if (person.id === requestedBy.id && person.permission !== requestedBy.permission) {
        throw new Error("requester and person are one, with two permissions");
      }
      const self = uid("User", person.id);
      return { principal: self, principals: [entity(self, [uid("Role", person.permission)])] };
    }
    default:
      return assertNever(principal);
  }
}

/** What the action works on: a path, the numbered thing or branch its arguments name, the run that is approved, or the whole. */
function resourceOf(request: AuthorizationRequest): { self: TypeAndId; entities: readonly EntityJson[] } {
  const repository = entity(uid("Repository", request.repository.id), []);
  const inRepository = (self: TypeAndId) => ({
    self,
    entities: [repository, entity(self, [repository.uid as TypeAndId])],
  });
  if (request.path !== null) return fileOf(request.path, repository);
  const { branch, issue, pull_request: pullRequest } = request.input;
  if (request.tool === "approve") {
    const self = uid("Run", request.runId);
    return { self, entities: [repository, entity(self, [uid("User", request.requestedBy.id)])] };
  }
  if (typeof branch === "string") return inRepository(uid("Branch", branch));
  if (typeof issue === "number") return inRepository(uid("Issue", String(issue)));
  if (typeof pullRequest === "number") return inRepository(uid("PullRequest", String(pullRequest)));
  return { self: repository.uid as TypeAndId, entities: [repository] };
}

/** `File::"src/a.ts"` in `Folder::"src"` in the repository. The root folder is the repository itself. */
function fileOf(path: PathFact, repository: EntityJson): { self: TypeAndId; entities: readonly EntityJson[] } {
  const entities: EntityJson[] = [repository];
  let parent = repository.uid as TypeAndId;
  const names = path.resolved === "." ? [] : path.resolved.split("/").filter((name) => name !== "");
  for (const index of names.keys()) {
    const isLast = index === names.length - 1;
    const self = uid(isLast && path.class !== "folder" ? "File" : "Folder", names.slice(0, index + 1).join("/"));
    entities.push(entity(self, [parent]));
    parent = self;
  }
  return { self: parent, entities };
}

function contextOf(request: AuthorizationRequest, requester: TypeAndId): Record<string, CedarValueJson> {
  const { path, budgetLeft } = request;
  return {
    risk: request.risk,
    approved: request.approved,
    requestedBy: { __entity: requester },
    permission: request.requestedBy.permission,
    runState: request.runState,
    attempt: toLong(request.attempt),
    budgetLeft: {
      steps: toLong(budgetLeft.steps),
      tokens: toLong(budgetLeft.tokens),
      seconds: toLong(budgetLeft.seconds),
    },
    effects: [...request.effects],
    ...(path === null ? {} : { path: pathOf(path) }),
    input: toRecord(request.input),
  };
}

const pathOf = (path: PathFact): Record<string, CedarValueJson> => ({
  requested: path.requested,
  resolved: path.resolved,
  class: path.class,
  symlink: path.symlink,
  protection: protectionOfPath(path) ?? "none",
});

/** Rounded down: of what is left, a part of a unit is none. */
function toLong(value: number): number {
  const whole = Math.max(Math.min(Math.floor(value), Number.MAX_SAFE_INTEGER), Number.MIN_SAFE_INTEGER);
  if (Number.isNaN(whole)) throw new Error("a number in the request is none");
  return whole;
}

/** Null is absence: Cedar has no null. Names that Cedar's JSON gives a meaning to are no argument names of ours. */
function toRecord(value: JsonObject): Record<string, CedarValueJson> {
  const record: Record<string, CedarValueJson> = {};
  for (const [key, item] of Object.entries(value)) {
    if (key.startsWith("__")) throw new Error(`\`${key}\` is no argument name`);
    if (item !== null) record[key] = toCedarValue(item);
  }
  return record;
}

function toCedarValue(value: Exclude<JsonValue, null>): CedarValueJson {
  if (typeof value === "number" && !Number.isSafeInteger(value)) throw new Error("Cedar has whole numbers only");
  if (typeof value === "string" && !value.isWellFormed())
    throw new Error("a text in the request is not well-formed Unicode");
  if (typeof value !== "object") return value;
  if (Array.isArray(value)) {
    return value.map((item: JsonValue) => {
      if (item === null) throw new Error("Cedar has no null");
      return toCedarValue(item);
    });
  }
  return toRecord(value as JsonObject);
}
