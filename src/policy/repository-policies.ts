import { CountersignError } from "../domain/index.ts";
import type { PolicyEngine, RepositoryPolicies, RepositoryPolicy } from "./authorization-request.ts";
import { digestOfTexts } from "./digest.ts";
import { type PolicyProblem, readPolicies, type SourcePolicy } from "./policy-source.ts";

/** One entry of `forbid` in the repository's settings, and the line of the file on which it stands. */
export type ForbidText = { readonly text: string; readonly line: number };

/** A repository that forbids nothing on top. */
export const noRepositoryPolicies: RepositoryPolicies = { digest: digestOfTexts(new Map()), policies: [] };

/**
 * Reads what a repository forbids, against the engine's schema. Throws `SETTINGS_INVALID` with the position for a `permit`, a
 * parse error, a schema error, a missing or a repeated `@id` (AUD-24). Ids get the prefix `repository:`.
 */
export function compileRepositoryPolicies(
  engine: Pick<PolicyEngine, "schema">,
  texts: readonly ForbidText[],
): RepositoryPolicies {
  const policies = new Map<string, RepositoryPolicy>();
  for (const [index, { text, line }] of texts.entries()) {
    const refuse = (problem: PolicyProblem): CountersignError => invalid(problem, line, index + 1);
    const read = readPolicies(text, engine.schema);
    if (read.kind === "refused") throw refuse(read.problem);
    for (const policy of read.policies) {
      const message = whyUnfit(policy, policies);
      if (message !== null) throw refuse({ ...policy.place, message, help: null });
      const advice = policy.advice === null ? null : `the repository says: ${policy.advice}`;
      const id = `repository:${policy.id}`;
      policies.set(id, { id, text: policy.text, advice });
    }
  }
  const digest = digestOfTexts(new Map([...policies.values()].map((policy) => [policy.id, policy.text])));
  return { digest, policies: [...policies.values()] };
}

function whyUnfit(policy: SourcePolicy, known: ReadonlyMap<string, RepositoryPolicy>): string | null {
  if (policy.effect !== "forbid") return "a repository may only forbid, and this is a `permit`";
  return known.has(`repository:${policy.id}`) ? `\`@id("${policy.id}")\` is used twice` : null;
}

function invalid(problem: PolicyProblem, line: number, forbid: number): CountersignError {
  const help = problem.help === null ? "" : ` (${problem.help})`;
  const where = `line ${line}, \`forbid\` ${forbid}, at ${problem.line}:${problem.column} of its text`;
  return new CountersignError("SETTINGS_INVALID", `\`.github/countersign.yml\`, ${where}: ${problem.message}${help}`, {
    details: { line, forbid, policyLine: problem.line, policyColumn: problem.column },
  });
}
