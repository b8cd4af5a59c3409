import {
  type ActionId,
  type ActionState,
  type CancelCause,
  type JsonObject,
  type NewEntry,
  plainEntry,
  type Run,
  statesAtRest,
} from "../domain/index.ts";
import type { RunLease } from "../ledger/index.ts";
import type { RunDeps } from "./run-deps.ts";

type OpenAction = {
  readonly actionId: ActionId;
  readonly tool: string | null;
  readonly state: ActionState;
  readonly try: number;
};

/**
 * Brings every action of a run to rest once its checkout is gone: what was started counts as not applied, since nothing of
 * a dropped checkout is kept (AUD-66); what was not started is cancelled. What may stand on GitHub is left open: only a look
 * at GitHub can settle it. Answers with how many were brought to rest.
 */
export async function settleOpenActions(
  deps: RunDeps,
  run: Pick<Run, "runId" | "traceId" | "attempt">,
  lease: RunLease,
  cause: CancelCause,
): Promise<number> {
  return settleAll(deps, run, lease, { cause, open: await openActions(deps, run) });
}

/**
 * The same of a run that is gone on with: what a person was asked about goes on waiting, and a yes that nobody has taken up is kept
 * for whoever takes the run up again (AUD-6).
 */
export async function settleCutOffActions(
  deps: RunDeps,
  run: Pick<Run, "runId" | "traceId" | "attempt">,
  lease: RunLease,
  cause: CancelCause,
): Promise<number> {
  const open = (await openActions(deps, run)).filter(({ state }) => !isAsked.has(state));
  return settleAll(deps, run, lease, { cause, open });
}

const isAsked: ReadonlySet<ActionState> = new Set<ActionState>(["approval_pending", "approval_granted"]);

async function openActions(deps: RunDeps, run: Pick<Run, "runId">): Promise<readonly OpenAction[]> {
  const rows = await deps.store.db
    .selectFrom("actions")
    .select(["action_id as actionId", "tool", "state", "try"])
    .where("run_id", "=", run.runId)
    .where("state", "not in", [...statesAtRest])
    .execute();
  return rows.filter((row) => !mayStandOnGithub(deps, row));
}

async function settleAll(
  deps: RunDeps,
  run: Pick<Run, "runId" | "traceId" | "attempt">,
  lease: RunLease,
  { cause, open }: { readonly cause: CancelCause; readonly open: readonly OpenAction[] },
): Promise<number> {
  const entries = open.flatMap((one) => stepsToRest(one, cause).map((step) => stepEntry(run, one, step)));
  if (entries.length > 0) await deps.ledger.append(lease, { entries, sealed: [] });
  return open.length;
}

const begun: ReadonlySet<ActionState> = new Set<ActionState>([
  "started",
  "unknown",
  "reconciling",
  "reconcile_inconclusive",
]);

/** Whether an action was begun whose effect is outside of any checkout. */
function mayStandOnGithub({ catalogue }: Pick<RunDeps, "catalogue">, { tool, state }: OpenAction): boolean {
  return begun.has(state) && tool !== null && catalogue.get(tool)?.group === "publish";
}

type Step = { readonly state: ActionState; readonly evidence: JsonObject };

function stepsToRest({ state }: OpenAction, cause: CancelCause): readonly Step[] {
  const look: readonly Step[] = [
    { state: "reconciling", evidence: { recipe: "drop_workspace", round: 1 } },
    { state: "reconciled_not_applied", evidence: { recipe: "drop_workspace", seen: "the checkout was dropped" } },
  ];
  switch (state) {
    case "started":
      return [
        { state: "unknown", evidence: { cause: cause === "log_failed_before" ? "log_failed" : "crash" } },
        ...look,
      ];
    case "unknown":
    case "reconcile_inconclusive":
      return look;
    case "reconciling":
      return [{ state: "reconcile_inconclusive", evidence: { recipe: "drop_workspace", round: 1 } }, ...look];
    default:
      return [{ state: "cancelled", evidence: { cause } }];
  }
}

function stepEntry(run: Pick<Run, "runId" | "traceId" | "attempt">, open: OpenAction, step: Step): NewEntry {
  return {
    ...plainEntry,
    type: "action",
    runId: run.runId,
    attempt: run.attempt,
    traceId: run.traceId,
    actionId: open.actionId,
    state: step.state,
    try: open.try > 0 ? open.try : null,
    evidence: step.evidence,
  };
}
