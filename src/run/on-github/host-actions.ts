import {
  type ActionId,
  type ActionOutcome,
  type ActionState,
  type ErrorCode,
  errorCatalogue,
  type JsonObject,
  newActionId,
  statesAtRest,
} from "../../domain/index.ts";
import { type RunContext, reconcileOpen, takeUp } from "../../gateway/index.ts";
import { readActionTexts } from "../../ledger/index.ts";
import { isHalt, noteOutage } from "../outage.ts";
import { gatewayDeps, performAsking } from "../perform-asking.ts";
import type { RunDeps } from "../run-deps.ts";
import type { GithubJob } from "./github-job.ts";

/** What a write to GitHub came to. `code`: GitHub's refusal by our name for it, or `policy_denied` and the like. */
export type HostWrite =
  | { readonly kind: "done"; readonly result: JsonObject; readonly outcome: ActionOutcome }
  /** `waiting`: a person is asked whether it may be done. */
  | {
      readonly kind: "not_done" | "unknown" | "waiting";
      readonly code: string;
      readonly reason: string;
      readonly remedy: string;
    };

/**
 * Proposes one of the host's writes to GitHub and takes it to its end; one that is halted before it starts is not done.
 * Throws only what keeps it from being recorded.
 */
export async function writeAsHost(
  deps: RunDeps,
  context: RunContext,
  { tool, args, actionId }: { readonly tool: string; readonly args: JsonObject; readonly actionId?: ActionId },
  signal: AbortSignal,
): Promise<HostWrite> {
  const proposed = {
    actionId: actionId ?? newActionId(deps),
    runId: context.runId,
    principal: { kind: "system" },
    tool,
    rawArguments: JSON.stringify(args),
    call: null,
    compensates: null,
  } as const;
  try {
    const outcome = await performAsking(deps, context, proposed, signal);
    deps.onEvent({ kind: "action", outcome });
    return asHostWrite(outcome);
  } catch (error) {
    noteOutage(deps, tool, error);
    if (signal.aborted || !isHalt(error)) throw error;
    return { kind: "not_done", code: error.code, reason: error.message, remedy: error.remedy };
  }
}

function asHostWrite(outcome: ActionOutcome): HostWrite {
  const { result, error_code: errorCode } = outcome.record;
  if (outcome.status === "ok") return { kind: "done", result: (result ?? {}) as JsonObject, outcome };
  const code = typeof errorCode === "string" ? errorCode : (outcome.refusal?.code ?? outcome.state);
  const rules = outcome.decision?.policyIds.join(", ") ?? "";
  const reason = outcome.refusal?.received ?? `${outcome.tool} ended ${outcome.state}`;
  const kind = outcome.state === "approval_pending" ? "waiting" : "not_done";
  return {
    kind: outcome.status === "unknown" ? "unknown" : kind,
    code,
    reason: outcome.state === "denied" ? `${outcome.tool} was denied by ${rules}` : reason,
    remedy: isErrorCode(code) ? errorCatalogue[code].remedy : (outcome.refusal?.remedy ?? ""),
  };
}

/**
 * Goes on with a write about which a person was asked: null where nobody was, or where what was asked about is no longer what would be
 * written, so that it may be proposed and asked about anew.
 */
export async function takeUpAsked(
  deps: RunDeps,
  context: RunContext,
  tool: string,
  signal: AbortSignal,
): Promise<HostWrite | null> {
  const asked = await deps.store.db
    .selectFrom("approvals")
    .innerJoin("actions", "actions.action_id", "approvals.action_id")
    .select("actions.action_id as actionId")
    .where("approvals.run_id", "=", context.runId)
    .where("actions.tool", "=", tool)
    .orderBy("actions.first_index", "desc")
    .executeTakeFirst();
  if (asked === undefined) return null;
  const recovery = { ...gatewayDeps(deps), store: deps.store, keys: deps.keys };
  const outcome = await takeUp(recovery, context, asked.actionId, signal);
  deps.onEvent({ kind: "action", outcome });
  return outcome.state === "approval_superseded" || outcome.state === "cancelled" ? null : asHostWrite(outcome);
}

const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(errorCatalogue, code);

/** Settles the writes whose end this run's earlier worker did not see, by looking at GitHub (AUD-6). */
export async function reconcileAll(
  deps: RunDeps,
  { context }: Pick<GithubJob, "context">,
  signal: AbortSignal,
): Promise<void> {
  for (const { actionId } of await openWrites(deps, context)) await reconcileOne(deps, context, actionId, signal);
}

/**
 * Looks once more for what is open of a tool, before it writes what must stand once. `unknown`: one may stand that was not
 * found, so another might stand beside it.
 */
export async function reconcileTool(
  deps: RunDeps,
  context: RunContext,
  tool: string,
  signal: AbortSignal,
): Promise<"settled" | "unknown"> {
  const open = (await openWrites(deps, context)).filter((write) => write.tool === tool);
  const outcomes: ActionOutcome[] = [];
  for (const { actionId } of open) outcomes.push(await reconcileOne(deps, context, actionId, signal));
  return outcomes.some(({ status }) => status === "unknown") ? "unknown" : "settled";
}

const reconcileOne = (
  deps: RunDeps,
  context: RunContext,
  actionId: ActionId,
  signal: AbortSignal,
): Promise<ActionOutcome> =>
  reconcileOpen({ ...gatewayDeps(deps), store: deps.store, keys: deps.keys }, context, actionId, signal);

/** Writes to GitHub of which it is still not known whether they stand there. */
export async function unknownWrites(deps: RunDeps, run: Pick<RunContext, "runId">): Promise<readonly string[]> {
  return (await openWrites(deps, run)).map(({ actionId, tool }) => `${tool} ${actionId}`);
}

/** What a person is asked about is no open write: it goes on waiting, or is taken up with its answer (AUD-6). */
async function openWrites({ store, catalogue }: RunDeps, { runId }: Pick<RunContext, "runId">) {
  const open = await store.db
    .selectFrom("actions")
    .select(["action_id as actionId", "tool"])
    .where("run_id", "=", runId)
    .where("state", "not in", [...statesAtRest, "approval_pending", "approval_granted"])
    .orderBy("first_index")
    .execute();
  return open.filter(({ tool }) => tool !== null && catalogue.get(tool)?.group === "publish");
}

/** What stands on GitHub for a run by the record alone: the results of its writes, oldest first. Questions are no part of it. */
export async function standingWrites(
  deps: RunDeps,
  { runId }: Pick<RunContext, "runId">,
  tool: string,
): Promise<{ readonly results: readonly JsonObject[]; readonly proposedCount: number }> {
  const rows = await deps.store.db
    .selectFrom("actions")
    .select(["action_id as actionId", "state"])
    .where("run_id", "=", runId)
    .where("tool", "=", tool)
    .where(({ exists, not, selectFrom }) =>
      not(
        exists(selectFrom("approvals").select("approval_id").whereRef("question_action_id", "=", "actions.action_id")),
      ),
    )
    .orderBy("first_index")
    .execute();
  const standing = rows.filter(isStanding);
  const results = await Promise.all(standing.map(({ actionId }) => resultOf(deps, actionId)));
  return { results: results.filter((result) => result !== null), proposedCount: rows.length };
}

const isStanding = ({ state }: { readonly state: ActionState }): boolean =>
  state === "succeeded" || state === "reconciled_applied";

/** The result of one write, where it stands by the record; else null. */
export async function standingResult(deps: RunDeps, actionId: ActionId): Promise<JsonObject | null> {
  const row = await deps.store.db
    .selectFrom("actions")
    .select("state")
    .where("action_id", "=", actionId)
    .executeTakeFirst();
  return row !== undefined && isStanding(row) ? resultOf(deps, actionId) : null;
}

async function resultOf(deps: RunDeps, actionId: ActionId): Promise<JsonObject | null> {
  const text = (await readActionTexts(deps, actionId)).findLast(({ field }) => field === "result");
  if (text?.bytes == null) return null;
  const { record } = JSON.parse(new TextDecoder().decode(text.bytes)) as { readonly record: JsonObject };
  return (record["result"] ?? null) as JsonObject | null;
}
