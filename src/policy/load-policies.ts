import { isUtf8 } from "node:buffer";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import {
  getCedarSDKVersion,
  preparsePolicySet,
  preparseSchema,
  type SchemaJson,
  schemaToJson,
} from "@cedar-policy/cedar-wasm/nodejs";
import { type ActionGroup, type Clock, CountersignError, type DecisionId } from "../domain/index.ts";
import type { PolicyEngine, RepositoryPolicies } from "./authorization-request.ts";
import { cedarEvaluation, type DecisionBasis, decide } from "./authorize.ts";
import { digestOfTexts, sha256 } from "./digest.ts";
import { floorVersion } from "./floor.ts";
import { findMismatch, type PolicyProblem, problemAt, readPolicies, type SourcePolicy } from "./policy-source.ts";
import { schemaActions } from "./standing.ts";

/** What the engine needs from outside. The clock may give fractions of milliseconds. */
export type PolicyDeps = { readonly clock: Clock; readonly newDecisionId: () => DecisionId };

/** One action as the catalogue names it. */
export type CatalogueEntry = { readonly name: string; readonly group: ActionGroup };

const schemaFile = "schema.cedarschema";

/** A person's answer is a request of its own and no tool: nothing can propose it, so that no catalogue has it (AUD-37). */
const ownActions: readonly CatalogueEntry[] = [{ name: "approve", group: "publish" }];

/**
 * Loads and compiles the policy set of a folder: `schema.cedarschema` and every `*.cedar` beside it. Every name of the
 * catalogue must be an action of the schema, in its group; names outside the catalogue are unknown tools to the floor.
 * Throws `POLICY_INVALID`, naming file, line and column, for whatever can't be relied on (AUD-18); nothing is half loaded.
 */
export async function loadPolicies(
  deps: PolicyDeps,
  folder: string,
  catalogue: readonly CatalogueEntry[],
): Promise<PolicyEngine> {
  return compilePolicies(deps, await readTexts(folder), catalogue);
}

/**
 * A set that decided something, as it was kept (AUD-31). Its schema may be older than this version's catalogue: an action that
 * it does not have was never asked for.
 */
export function compileRecordedPolicies(
  deps: PolicyDeps,
  policyText: ReadonlyMap<string, string>,
  catalogue: readonly CatalogueEntry[],
): PolicyEngine {
  const known = schemaActions(policyText.get(schemaFile) ?? "");
  return compilePolicies(
    deps,
    policyText,
    catalogue.filter(({ name }) => known.has(name)),
  );
}

/** The same from texts by file name. */
export function compilePolicies(
  deps: PolicyDeps,
  policyText: ReadonlyMap<string, string>,
  catalogue: readonly CatalogueEntry[],
): PolicyEngine {
  const schema = policyText.get(schemaFile);
  if (schema === undefined) throw invalid(schemaFile, null, "there is no schema", "copy it from the shipped set");
  const actions = [...catalogue, ...ownActions];
  checkSchema(schema, actions);
  const policies = readAll(policyText, schema);
  const schemaDigest = sha256(schema);
  const policySetDigest = digestOfTexts(policyText);
  compile(() => preparseSchema(schemaDigest, schema));

  const sets = createCompiledSets(policySetDigest, policies);
  const fixed = {
    policySetDigest,
    schemaDigest,
    engineVersion: `Cedar ${getCedarSDKVersion()}`,
    tools: new Set(actions.map((entry) => entry.name)),
  };
  const authorize: PolicyEngine["authorize"] = (requests, repositoryPolicies) => {
    const set = sets(repositoryPolicies);
    const basis: DecisionBasis = { ...fixed, repositoryPolicyDigest: repositoryPolicies.digest, advice: set.advice };
    return decide({ ...deps, evaluate: cedarEvaluation(schemaDigest, set.id) }, basis, requests);
  };
  warmUp(cedarEvaluation(schemaDigest, policySetDigest));
  return {
    ...fixed,
    floorVersion,
    policyText,
    policyIds: policies.map((policy) => policy.id).sort(),
    policies,
    schema,
    authorize,
  };
}

/** The first evaluations compile WebAssembly and take a hundred times as long: they are not to count against AUD-26's limit. */
function warmUp(evaluate: ReturnType<typeof cedarEvaluation>): void {
  const nobody = { type: "User", id: "" };
  for (let round = 0; round < 20; round += 1) {
    evaluate({ principal: nobody, action: { type: "Action", id: "" }, resource: nobody, context: {}, entities: [] });
  }
}

async function readTexts(folder: string): Promise<ReadonlyMap<string, string>> {
  const unreadable = (cause: unknown): never => {
    throw new CountersignError("POLICY_INVALID", `the policy folder \`${folder}\` can't be read`, {
      cause,
      remedy: "point COUNTERSIGN_POLICIES to a readable folder of UTF-8 policy files",
    });
  };
  const names = await readdir(folder).catch(unreadable);
  const texts = new Map<string, string>();
  for (const name of names.filter((file) => file === schemaFile || file.endsWith(".cedar")).sort()) {
    const bytes = await readFile(path.join(folder, name)).catch(unreadable);
    if (!isUtf8(bytes)) throw invalid(name, null, "the bytes are no UTF-8", null);
    texts.set(name, bytes.toString("utf8"));
  }
  return texts;
}

type FilePolicy = SourcePolicy & { readonly file: string };

function readAll(policyText: ReadonlyMap<string, string>, schema: string): readonly FilePolicy[] {
  const policies = new Map<string, FilePolicy>();
  for (const [file, text] of policyText) {
    if (file === schemaFile) continue;
    const read = readPolicies(text);
    if (read.kind === "refused") throw invalidAt(file, read.problem);
    for (const policy of read.policies) {
      const same = policies.get(policy.id);
      if (same !== undefined) {
        const earlier = `${same.file}:${same.place.line}:${same.place.column}`;
        const message = `\`@id("${policy.id}")\` stands at ${earlier} already`;
        throw invalidAt(file, { ...policy.place, message, help: "give each policy a name of its own" });
      }
      policies.set(policy.id, { ...policy, file });
    }
  }
  if (policies.size === 0) throw invalid("*.cedar", null, "there is no policy", "without one everything is denied");
  const mismatch = findMismatch([...policies.values()], schema);
  if (mismatch !== null) throw invalidAt(mismatch.policy.file, mismatch.problem);
  return [...policies.values()];
}

function checkSchema(schema: string, catalogue: readonly CatalogueEntry[]): void {
  const json = schemaToJson(schema);
  if (json.type === "failure") throw invalidAt(schemaFile, problemAt(schema, json.errors[0]));
  const actions = (json.json as SchemaJson<string>)[""]?.actions ?? {};
  for (const { name, group } of catalogue) {
    const action = actions[name];
    if (action === undefined)
      throw invalid(schemaFile, null, `there is no action \`${name}\``, "take the schema of this version");
    if (!(action.memberOf ?? []).some((parent) => parent.id === group)) {
      throw invalid(
        schemaFile,
        null,
        `the action \`${name}\` is not in the group \`${group}\``,
        "take the schema of this version",
      );
    }
  }
}

const invalidAt = (file: string, problem: PolicyProblem): CountersignError =>
  invalid(file, problem, problem.message, problem.help);

function invalid(file: string, place: { line: number; column: number } | null, message: string, help: string | null) {
  const where = place === null ? file : `${file}:${place.line}:${place.column}`;
  return new CountersignError("POLICY_INVALID", `\`${where}\`: ${message}${help === null ? "" : ` (${help})`}`, {
    details: { file, line: place?.line ?? null, column: place?.column ?? null },
  });
}

/** Cedar keeps compiled sets by name and drops none: so many names, used in turn, bound what repositories can fill. */
const repositorySlots = 32;

type Part = { readonly id: string; readonly text: string; readonly advice: string | null };
type CompiledSet = { readonly id: string; readonly advice: ReadonlyMap<string, string> };

/** The operator's policies alone are compiled now; together with a repository's when they are first asked for. */
function createCompiledSets(digest: string, operator: readonly SourcePolicy[]) {
  const compileSet = (id: string, parts: readonly Part[]): CompiledSet => {
    compile(() =>
      preparsePolicySet(id, { staticPolicies: Object.fromEntries(parts.map((part) => [part.id, part.text])) }),
    );
    return { id, advice: new Map(parts.flatMap((part) => (part.advice === null ? [] : [[part.id, part.advice]]))) };
  };
  const alone = compileSet(digest, operator);
  const slots = new Map<string, CompiledSet>();
  let made = 0;
  return (repository: RepositoryPolicies): CompiledSet => {
    if (repository.policies.length === 0) return alone;
    const known = slots.get(repository.digest);
    if (known !== undefined) return known;
    const oldest = slots.size < repositorySlots ? undefined : slots.keys().next().value;
    if (oldest !== undefined) slots.delete(oldest);
    const set = compileSet(`${digest}+${made % repositorySlots}`, [...operator, ...repository.policies]);
    made += 1;
    slots.set(repository.digest, set);
    return set;
  };
}

function compile(act: () => { readonly type: "success" | "failure" }): void {
  if (act().type === "failure") throw new Error("a checked policy set did not compile");
}
