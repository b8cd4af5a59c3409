import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { CountersignError, parseRunId, parseStrictJson, type RunId } from "../domain/index.ts";
import type { AuthorizationRequest, PolicyEngine } from "./authorization-request.ts";
import { describeIssue } from "./describe-issue.ts";
import { noRepositoryPolicies } from "./repository-policies.ts";

/** One case of an operator's own: a request and the answer that the set must give (AUD-33). */
export type PolicyCase = {
  readonly file: string;
  readonly name: string;
  readonly request: AuthorizationRequest;
  readonly effect: "allow" | "deny" | "require_approval";
  /** Sorted. */
  readonly policyIds: readonly string[];
  /** Why it must be so, for whoever sees it fail. */
  readonly reason: string;
};

const runId = z.string().transform((text, context): RunId => {
  const id = parseRunId(text);
  if (id !== null) return id;
  context.addIssue({ code: "custom", message: "the id of a run", input: text });
  return z.NEVER;
});
const person = z.strictObject({
  id: z.string(),
  login: z.string(),
  permission: z.enum(["admin", "maintain", "write", "read", "none"]),
});
const pathKinds = ["read_path", "write_path", "create_path", "delete_path"] as const;

const Request = z.strictObject({
  principal: z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("run"), runId }),
    z.strictObject({ kind: z.literal("system") }),
    z.strictObject({ kind: z.literal("person"), person }),
  ]),
  requestedBy: person,
  tool: z.string(),
  group: z.enum(["read", "write", "execute", "publish"]),
  risk: z.enum(["SAFE", "RESTRICTED", "DANGEROUS"]),
  repository: z.strictObject({ id: z.string(), name: z.string() }),
  runId,
  approved: z.boolean(),
  runState: z.enum(["queued", "in_progress", "waiting", "completed"]),
  attempt: z.int(),
  budgetLeft: z.strictObject({ steps: z.number(), tokens: z.number(), seconds: z.number() }),
  effects: z.array(z.string()),
  path: z
    .strictObject({
      requested: z.string(),
      resolved: z.string(),
      class: z.enum(["file", "folder", "absent", "other"]),
      symlink: z.boolean(),
      kind: z.enum(pathKinds),
    })
    .nullable(),
  input: z.record(z.string(), z.json()),
  runBranch: z.string().exactOptional(),
  runRepositoryId: z.string().exactOptional(),
});

/** The file as written: what a case does not say of its request, `base` says. */
const CasesFile = z.strictObject({
  base: z.record(z.string(), z.json()).default({}),
  cases: z.array(
    z.strictObject({
      name: z.string().min(1),
      request: z.record(z.string(), z.json()),
      effect: z.enum(["allow", "deny", "require_approval"]),
      policy_ids: z.array(z.string()).min(1),
      reason: z.string().min(1),
    }),
  ),
});

const casesFolder = "tests";

/**
 * Reads the cases in `tests/*.json` of a policy folder, file by file in the order of their names. Throws `POLICY_INVALID` with
 * file and place for what is no case, and where there is none: nothing would be tested then.
 */
export async function readPolicyCases(folder: string): Promise<readonly PolicyCase[]> {
  const names = await readdir(path.join(folder, casesFolder)).catch(() => []);
  const files = names.filter((name) => name.endsWith(".json")).sort();
  const cases: PolicyCase[] = [];
  for (const name of files) {
    const file = `${casesFolder}/${name}`;
    cases.push(...parseCases(await readFile(path.join(folder, file), "utf8"), file));
  }
  if (cases.length > 0) return cases;
  throw new CountersignError("POLICY_INVALID", `there is no case in \`${path.join(folder, casesFolder)}\``, {
    remedy: "write cases into `tests/*.json` as docs/policies.md shows, or begin with those of a shipped set",
  });
}

function parseCases(text: string, file: string): readonly PolicyCase[] {
  const { base, cases } = shaped(CasesFile, parseJson(text, file), file);
  return cases.map(({ name, request, effect, policy_ids: ids, reason }) => ({
    file,
    name,
    request: shaped(Request, { ...base, ...request }, `${file}, case \`${name}\``),
    effect,
    policyIds: ids.toSorted(),
    reason,
  }));
}

/** The gate of the arguments: a key that stands twice, or anything else that another reader could read otherwise, is refused. */
function parseJson(text: string, file: string): unknown {
  const read = parseStrictJson(Buffer.from(text, "utf8"));
  if (read.kind === "value") return read.value;
  const before = text.slice(0, read.position).split("\n");
  throw invalid(`${file}:${before.length}:${(before.at(-1) ?? "").length + 1}`, `no plain JSON: ${read.code}`);
}

function shaped<Shape>(schema: z.ZodType<Shape>, value: unknown, where: string): Shape {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  // A misspelt key is missed under its right name too: what stands there tells more than what does not.
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  throw invalid(where, issue === undefined ? "not as described" : describeIssue(issue).text);
}

const invalid = (where: string, message: string): CountersignError =>
  new CountersignError("POLICY_INVALID", `\`${where}\`: ${message}`, { details: { where } });

/** A case that the set answers otherwise. */
export type CaseDifference = {
  readonly file: string;
  readonly name: string;
  readonly reason: string;
  readonly expected: { readonly effect: string; readonly policyIds: readonly string[] };
  readonly got: { readonly effect: string; readonly policyIds: readonly string[]; readonly errors: readonly string[] };
};

export type CasesReport = {
  readonly differences: readonly CaseDifference[];
  /** Policies that decide no case: they could be left out, and no case would tell. */
  readonly undecided: readonly string[];
};

/** Asks the set each case (AUD-33). A case holds if effect and deciding policies are those that it names. */
export function runPolicyCases(
  engine: Pick<PolicyEngine, "authorize" | "policyIds">,
  cases: readonly PolicyCase[],
): CasesReport {
  const decided = new Set<string>();
  const differences = cases.flatMap(({ file, name, reason, request, effect, policyIds }): readonly CaseDifference[] => {
    const answer = engine.authorize([request], noRepositoryPolicies);
    for (const id of answer.policyIds) decided.add(id);
    if (answer.effect === effect && answer.policyIds.join() === policyIds.join()) return [];
    const got = { effect: answer.effect, policyIds: answer.policyIds, errors: answer.errors };
    return [{ file, name, reason, expected: { effect, policyIds }, got }];
  });
  return { differences, undecided: engine.policyIds.filter((id) => !decided.has(id)) };
}
