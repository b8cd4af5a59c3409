import { type Answer, movedTo, notFound, type Refusal, refused } from "./answer.ts";
import { isGranted } from "./authenticate.ts";
import type { Call, Caller, Found, Route } from "./router.ts";
import { apiOf } from "./views.ts";
import { fullNameOf, type Repository, repositoryByName } from "./world.ts";

/** Lets a call through to its handler, or refuses it in the order that GitHub does: who, which repository, what right. */
export function authorize(found: Found, call: Call): Answer | Promise<Answer> {
  const { route } = found;
  if (route.kind === "plain") {
    checkPlain(route, call.caller);
    return route.handle(call);
  }
  const repository = repositoryOf(found, call);
  const isWrite = route.method !== "GET";
  const { caller } = call;
  if (caller.kind === "app") throw refused(401, "Bad credentials");
  if (caller.kind === "anonymous" && (repository.isPrivate || isWrite)) throw isWrite ? needsCredentials() : notFound();
  if (caller.kind === "installation") {
    if (!isInScope(caller, repository)) throw notFound();
    if (!isGranted(caller.token.permissions, route.needs)) throw refused(403, "Resource not accessible by integration");
  }
  checkState(repository, isWrite);
  return route.handle({ ...call, repository });
}

const needsCredentials = (): Refusal => refused(401, "Requires authentication");

function checkPlain(route: Route & { kind: "plain" }, caller: Caller): void {
  if (route.needs === "anyone") {
    if (caller.kind === "app") throw refused(401, "Bad credentials");
    return;
  }
  if (caller.kind === route.needs) return;
  if (caller.kind === "anonymous") throw needsCredentials();
  if (route.needs === "app") throw refused(401, "A JSON web token could not be decoded");
  throw refused(403, "Resource not accessible by integration");
}

export const isInScope = (caller: Caller, repository: Repository): boolean =>
  caller.kind === "installation" &&
  caller.installation.repositoryIds.has(repository.id) &&
  (caller.token.repositoryIds?.has(repository.id) ?? true);

/** By number or by name; a former name is answered with the way to the number. */
function repositoryOf(found: Found, call: Call): Repository {
  const { world, params } = call;
  const byId = params["repository_id"];
  if (byId !== undefined) return world.repositories.get(Number(byId)) ?? gone();
  const { owner = "", repo = "" } = params;
  const repository = repositoryByName(world, owner, repo);
  if (repository !== null) return repository;
  const formerId = world.formerNames.get(`${owner}/${repo}`.toLowerCase());
  if (formerId === undefined || !world.repositories.has(formerId)) throw notFound();
  const rest = call.url.pathname.split("/").slice(6).join("/");
  const to = `${apiOf(world)}/repositories/${formerId}${rest === "" ? "" : `/${rest}`}${call.url.search}`;
  throw movedTo(to, found.route.method === "GET" ? 301 : 307);
}

const gone = (): never => {
  throw notFound();
};

function checkState(repository: Repository, isWrite: boolean): void {
  if (repository.isBlocked)
    throw refused(451, "Repository access blocked", {
      block: { reason: "dmca", created_at: repository.updatedAt, html_url: "https://github.com/github/dmca" },
    });
  if (!isWrite) return;
  if (repository.isArchived) throw refused(403, "Repository was archived so is read-only.");
  if (repository.isDisabled) throw refused(403, `Repository ${fullNameOf(repository)} is disabled.`);
}
