import { attribute, type Decision, type FileChange, type JsonObject, type PathFact } from "../domain/index.ts";
import type { RepositoryPolicies } from "../policy/index.ts";
import type { RunDeps } from "./run-deps.ts";
import type { WithheldChange } from "./run-report.ts";
import type { Session } from "./session.ts";

export type Decider = {
  readonly run: Pick<Session["context"], "runId" | "attempt" | "requester" | "repository" | "budgetLeft">;
  readonly repositoryPolicies: RepositoryPolicies;
  /** Whether a person approved the file action that this change is put down to; its content is unchanged since (AUD-21). */
  readonly isApproved: (path: string) => boolean;
};

/**
 * Asks the policy for every changed path once more, whatever wrote it: a command can write where no file tool may. What is
 * denied, or would need a person's yes that nobody gave, is withheld.
 */
export function decidePaths(
  deps: RunDeps,
  decider: Decider,
  changes: readonly FileChange[],
): { readonly allowed: readonly FileChange[]; readonly withheld: readonly WithheldChange[] } {
  const allowed: FileChange[] = [];
  const withheld: WithheldChange[] = [];
  for (const change of changes) {
    const { effect, policyIds } = decide(deps, decider, change);
    if (effect === "allow") allowed.push(change);
    else withheld.push({ path: change.path, policyIds });
  }
  return { allowed, withheld };
}

function decide(deps: RunDeps, { run, repositoryPolicies, isApproved }: Decider, change: FileChange): Decision {
  const { tool, kind } = toolFor(change);
  const { path, after } = change;
  const symlink = after?.mode === "120000";
  const fact: PathFact = { requested: path, resolved: path, class: "file", symlink, kind };
  const request = {
    principal: { kind: "run", runId: run.runId },
    requestedBy: run.requester,
    tool,
    group: "write",
    risk: "RESTRICTED",
    repository: run.repository,
    runId: run.runId,
    approved: isApproved(path),
    runState: "in_progress",
    attempt: run.attempt,
    budgetLeft: run.budgetLeft(),
    effects: [kind],
    path: fact,
    input: { path, ...inputs[tool] },
  } as const;
  return deps.policies.authorize([request], repositoryPolicies);
}

/** The further arguments that the schema asks for; no rule of the path depends on the content. */
const inputs = { create_file: { content: "" }, edit_file: { edits: [] }, delete_file: {} } as const;

function toolFor({ before, after }: FileChange): {
  readonly tool: keyof typeof inputs;
  readonly kind: PathFact["kind"];
} {
  if (after === null) return { tool: "delete_file", kind: "delete_path" };
  return before === null ? { tool: "create_file", kind: "create_path" } : { tool: "edit_file", kind: "write_path" };
}

/** The actions whose approval is one for the path that they name: a yes to a command says nothing of the files that it writes. */
export const fileTools: readonly string[] = Object.keys(inputs);

const isApprovedWrite = (request: JsonObject): boolean =>
  request["approved"] === true && fileTools.includes(String(request["tool"]));

/** The decider of a live run: approvals are read off the decisions that its actions were executed under. */
export function deciderOf(session: Session): Decider {
  const approved = new Set([
    ...session.approvedEarlier,
    ...session.outcomes
      .filter(({ decision }) => decision?.requests.some(isApprovedWrite))
      .map(({ actionId }) => actionId),
  ]);
  const attribution = attribute(session.recorded);
  return {
    run: session.context,
    repositoryPolicies: session.context.repositoryPolicies,
    isApproved: (path) => {
      const claim = attribution.get(path);
      return claim !== undefined && approved.has(claim.actionId);
    },
  };
}
