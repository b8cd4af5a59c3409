import {
  type LoopDeps,
  openConversation,
  openingMessages,
  type PlacedCall,
  runLoop,
  type StoredResponse,
  stopReasonOf,
  type ToolPlace,
  type Turn,
  type UntrustedText,
  untrusted,
} from "../agent/index.ts";
import { type ActionOutcome, cutRedacted, isCountersignError, newActionId, type StopReason } from "../domain/index.ts";
import { createFingerprints, modelTools, type RunContext, unrecordedOutcome } from "../gateway/index.ts";
import { translateFileError } from "../store/index.ts";
import type { Workspace } from "../workspace/index.ts";
import { cancelUnrecorded } from "./log-failed.ts";
import { isBeforeEffect, isHalt, isLogOut, noteOutage } from "./outage.ts";
import { performAsking } from "./perform-asking.ts";
import type { RunDeps } from "./run-deps.ts";
import { runBatch } from "./run-record.ts";
import { reservedOutputTokens, type Session } from "./session.ts";

/** How the proposing ended. `detail` says why in a sentence where an error ended it, else it is empty. */
export type WorkEnd = {
  readonly stopReason: StopReason;
  readonly title: string;
  readonly summary: string;
  readonly detail: string;
  /** Nothing more could be recorded: a run that can be gone on with later is not at its end. */
  readonly isOutage: boolean;
};

/** Taken where neither the model's server nor `operator.json` tells how much the model can read (ACI-83). */
const assumedContextTokens = 128_000;

/** Lets the model work in the checkout until an end. What stops it from outside is an end too: the work is kept. */
export async function work(
  deps: RunDeps,
  session: Session,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<WorkEnd> {
  const opening = openingMessages(deps, { ...session.issue, verifyCommand: verifyCommandText(session) });
  try {
    await using pages = await deps.openPages(session.run.runId);
    const fingerprints = createFingerprints();
    const loop = loopDeps(deps, session, { ...session.context, workspace, fingerprints, pages });
    const tools = modelTools(deps.catalogue).map(({ function: tool }) => tool);
    const end = await runLoop(loop, openConversation(tools, opening), signal);
    const stopReason = stopReasonOf(end);
    if (stopReason === null) throw new Error("the loop waits for an approval although it is asked for at once");
    const isSaid = end.kind === "finished" || end.kind === "nothing_to_do";
    return {
      stopReason,
      title: isSaid ? end.title : "",
      summary: isSaid ? end.summary : "",
      detail: "",
      isOutage: false,
    };
  } catch (error) {
    return endOfError(error, signal);
  }
}

/** An error or an abort as the end of the proposing. */
export function endOfError(thrown: unknown, signal: AbortSignal): WorkEnd {
  const error = translateFileError(thrown, "COUNTERSIGN_HOME"); // a full disk is met by whoever writes next
  const stopReason = stopReasonOfError(error, signal);
  return {
    stopReason,
    title: "",
    summary: "",
    detail: signal.aborted && stopReason === "cancelled" ? "" : describe(error),
    isOutage: isLogOut(error) && !signal.aborted,
  };
}

function stopReasonOfError(error: unknown, signal: AbortSignal): StopReason {
  if (signal.aborted) return isCountersignError(signal.reason, "TIME_LIMIT") ? "limit_time" : "cancelled";
  if (isCountersignError(error, "SETUP_FAILED")) return "setup_failed";
  if (isHalt(error)) return "cancelled";
  return isCountersignError(error) && error.code.startsWith("MODEL_") ? "model_unavailable" : "bug";
}

function describe(error: unknown): string {
  if (isCountersignError(error)) return `${error.message}; ${error.remedy} [${error.code}]`;
  return error instanceof Error ? `${error.name} in Countersign itself` : "an error in Countersign itself";
}

function verifyCommandText({ settings }: Session): UntrustedText | null {
  return settings.verify === null ? null : untrusted(settings.verify.run, { kind: "settings" });
}

type WorkContext = RunContext & { readonly workspace: Workspace };

function loopDeps(deps: RunDeps, session: Session, context: WorkContext): LoopDeps {
  return {
    randomBytes: deps.randomBytes,
    model: deps.model,
    onEvent: (event) => deps.onEvent({ kind: "model", event }),
    budget: session.budget,
    contextTokens: deps.operator.model.contextTokens ?? assumedContextTokens,
    maxOutputTokens: reservedOutputTokens,
    toolPlaces: toolPlaces(deps),
    perform: (call, signal) => performCall(deps, session, context, { call, signal }),
    saveResponse: (stored) => saveResponse(deps, session, stored),
    saveTurn: (turn) => saveTurn(deps, session, turn),
    treeFingerprint: () => context.workspace.fingerprint(),
    hasChanges: () => Promise.resolve(session.recorded.some(({ changeSet }) => changeSet.changes.length > 0)),
  };
}

function toolPlaces(deps: RunDeps): ReadonlyMap<string, ToolPlace> {
  const reads = [...deps.catalogue.values()].filter(({ group, name }) => group === "read" && name !== "finish");
  return new Map(reads.map(({ name, place }) => [name, place === "host" ? "host_read" : "sandbox_read"]));
}

async function performCall(
  deps: RunDeps,
  session: Session,
  context: RunContext,
  { call, signal }: { readonly call: PlacedCall; readonly signal: AbortSignal },
): Promise<ActionOutcome> {
  const { name, rawArguments, ...place } = call;
  const { runId } = session.run;
  const proposed = {
    actionId: newActionId(deps),
    runId,
    principal: { kind: "run", runId },
    tool: name,
    rawArguments,
    call: place,
    compensates: null,
  } as const;
  const outcome = await performAsking(deps, context, proposed, signal).catch((error: unknown) => {
    noteOutage(deps, name, error);
    if (!isBeforeEffect(error)) throw error;
    session.unrecorded = [...session.unrecorded, proposed.actionId];
    return unrecordedOutcome(deps, context, proposed);
  });
  session.outcomes.push(outcome);
  deps.onEvent({ kind: "action", outcome });
  return outcome;
}

const longestName = 128;
const short = ({ redactor }: RunDeps, name: string): string => cutRedacted(redactor.redact(name), longestName);

/** The model's answer, whole and sealed, before its first call is proposed (ACI-45). */
async function saveResponse(deps: RunDeps, session: Session, { turn, response }: StoredResponse): Promise<void> {
  const evidence = {
    turn,
    answered: true,
    requestModel: short(deps, deps.modelName),
    serverAddress: deps.modelServer?.address ?? null,
    serverPort: deps.modelServer?.port ?? null,
    model: short(deps, response.model),
    responseId: response.responseId === null ? null : short(deps, response.responseId),
    finishReason: response.finishReason,
    callCount: response.toolCalls.length,
    usage: { ...response.usage },
  };
  const step = { type: "turn", evidence, texts: { response: JSON.stringify(response) } } as const;
  await deps.ledger.append(session.lease, runBatch(deps.randomBytes, session.run, step));
}

/** The turn as taken, durable before the next model call. */
async function saveTurn(deps: RunDeps, session: Session, turn: Turn): Promise<void> {
  session.used = {
    turns: session.used.turns + 1,
    inputTokens: session.used.inputTokens + turn.usage.inputTokens + turn.discarded.inputTokens,
    outputTokens: session.used.outputTokens + turn.usage.outputTokens + turn.discarded.outputTokens,
  };
  const evidence = { turn: turn.number, answered: false, end: turn.kind, resultCount: turn.results.length };
  await settleUnrecorded(deps, session);
  const step = { type: "turn", evidence, texts: { turn: JSON.stringify(turn) } } as const;
  await deps.ledger.append(session.lease, runBatch(deps.randomBytes, session.run, step));
}

/** Throws while the log is not back. */
export async function settleUnrecorded(deps: RunDeps, session: Session): Promise<void> {
  await cancelUnrecorded(deps, session.run, session.lease, session.unrecorded);
  session.unrecorded = [];
}
