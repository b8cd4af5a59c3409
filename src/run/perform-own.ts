import { type ActionId, type ActionOutcome, canonicalBytes, type JsonObject, newActionId } from "../domain/index.ts";
import { isYesUnchanged, type RunContext, readStoredQuestion, takeUp } from "../gateway/index.ts";
import { gatewayDeps, performAsking, type Waiting } from "./perform-asking.ts";
import type { RunDeps } from "./run-deps.ts";
import type { Session } from "./session.ts";

/** One of the host's own commands in a fresh checkout. */
export type OwnCommand = { readonly tool: "run_setup" | "run_verification"; readonly args: JsonObject };

/**
 * Performs a command of the host's own. Where a person has to be asked on GitHub it waits, and is gone on with by whoever makes that
 * checkout again: the command is asked about once, and a yes that was used holds in each checkout of the run with the same files
 * (AUD-21, AUD-66).
 */
export async function performOwn(
  deps: RunDeps,
  session: Session,
  { context, command }: { readonly context: RunContext; readonly command: OwnCommand },
  signal: AbortSignal,
): Promise<ActionOutcome | Waiting> {
  const outcome = await goOnOrPropose(deps, context, command, signal);
  session.outcomes.push(outcome);
  deps.onEvent({ kind: "action", outcome });
  if (outcome.state !== "approval_pending" || outcome.approvalId === null) return outcome;
  session.waitingFor.add(outcome.approvalId);
  return { kind: "waiting" };
}

async function goOnOrPropose(
  deps: RunDeps,
  context: RunContext,
  command: OwnCommand,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const propose = (run: RunContext) => performAsking(deps, run, proposalOf(deps, run, command), signal);
  const asked = context.approvalChannel === "github" ? await askedBefore(deps, context, command) : null;
  if (asked === null) return propose(context);
  const recovery = { ...gatewayDeps(deps), store: deps.store, keys: deps.keys };
  if (isAnswerDue.has(asked.state)) {
    const outcome = await takeUp(recovery, context, asked.actionId, signal);
    return outcome.state === "approval_superseded" ? propose(context) : outcome;
  }
  const isApproved = await isYesUnchanged(recovery, context, asked.actionId);
  return propose(isApproved ? { ...context, isOwnCommandApproved: true } : context);
}

/** The question is open, or its answer has not been used; a no is told again. */
const isAnswerDue: ReadonlySet<string> = new Set([
  "approval_pending",
  "approval_granted",
  "approval_refused",
  "approval_expired",
]);

const proposalOf = (deps: RunDeps, { runId }: RunContext, { tool, args }: OwnCommand) =>
  ({
    actionId: newActionId(deps),
    runId,
    principal: { kind: "system" },
    tool,
    rawArguments: JSON.stringify(args),
    call: null,
    compensates: null,
  }) as const;

/** The newest question of the run about this very command. */
async function askedBefore(
  deps: RunDeps,
  { runId }: RunContext,
  { tool, args }: OwnCommand,
): Promise<{ readonly actionId: ActionId; readonly state: string } | null> {
  const rows = await deps.store.db
    .selectFrom("approvals")
    .innerJoin("actions", "actions.action_id", "approvals.action_id")
    .select(["actions.action_id as actionId", "actions.state"])
    .where("approvals.run_id", "=", runId)
    .where("actions.tool", "=", tool)
    .orderBy("actions.first_index", "desc")
    .execute();
  const wanted = Buffer.from(canonicalBytes(args));
  for (const row of rows) {
    const asked = await readStoredQuestion(deps, row.actionId);
    if (wanted.equals(canonicalBytes(asked.arguments))) return row;
  }
  return null;
}
