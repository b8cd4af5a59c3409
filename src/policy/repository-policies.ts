import { CountersignError } from "../domain/index.ts";
import type { PolicyEngine, RepositoryPolicies, RepositoryPolicy } from "./authorization-request.ts";
import { digestOfTexts } from "./digest.ts";
import { findMismatch, type PolicyProblem, readPolicies, type SourcePolicy } from "./policy-source.ts";

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
  const sources = new Map<string, RepositorySource>();
  for (const [index, { text, line }] of texts.entries()) {
    const forbid = index + 1;
    const read = readPolicies(text);
    if (read.kind === "refused") throw invalid(read.problem, line, forbid);
    for (const policy of read.policies) {
      const message = whyUnfit(policy, sources);
      if (message !== null) throw invalid({ ...policy.place, message, help: null }, line, forbid);
      sources.set(policy.id, { ...policy, line, forbid });
    }
  }
  const mismatch = sources.size === 0 ? null : findMismatch([...sources.values()], engine.schema);
  if (mismatch !== null) throw invalid(mismatch.problem, mismatch.policy.line, mismatch.policy.forbid);
  const digest = digestOfTexts(new Map([...sources.values()].map((policy) => [policy.id, policy.text])));
  return { digest, policies: [...sources.values()].map(toRepositoryPolicy) };
}

type RepositorySource = SourcePolicy & { readonly line: number; readonly forbid: number };

const toRepositoryPolicy = ({ id, text, advice }: SourcePolicy): RepositoryPolicy => ({
  id: `repository:${id}`,
  text,
  advice: advice === null ? null : `the repository says: ${advice}`,
});

function whyUnfit(policy: SourcePolicy, known: ReadonlyMap<string, SourcePolicy>): string | null {
  if (policy.effect !== "forbid") return "a repository may only forbid, and this is a `permit`";
  return known.has(policy.id) ? `\`@id("${policy.id}")\` is used twice` : null;
}

function invalid(problem: PolicyProblem, line: number, forbid: number): CountersignError {
  const help = problem.help === null ? "" : ` (${problem.help})`;
  const where = `line ${line}, \`forbid\` ${forbid}, at ${problem.line}:${problem.column} of its text`;
  return new CountersignError("SETTINGS_INVALID", `\`.github/countersign.yml\`, ${where}: ${problem.message}${help}`, {
    details: { line, forbid, policyLine: problem.line, policyColumn: problem.column },
  });
}
