import type { ActionOutcome, ApprovalId } from "../domain/index.ts";
import { argumentsOf, pathOf } from "./arguments-of.ts";
import type { Conversation } from "./conversation.ts";
import { jsonShape } from "./json-shape.ts";
import type { LoopDeps, ToolPlace } from "./loop-deps.ts";
import type { ModelResponse } from "./model.ts";
import {
  afterFinish,
  afterUnknown,
  cancelled,
  mostCallsPerTurn,
  noChangeMeant,
  ownAnswer,
  readFirst,
  tooManyCalls,
  truncatedCall,
} from "./own-answer.ts";
import { toolMessage } from "./tool-message.ts";
import { type CallResult, hashResult, type PlacedCall } from "./turn.ts";

/** ACI-63. */
const mostReadsAtOnce = 4;

/** What one round of tool calls came to. */
export type Round = {
  /** In the order of the calls; calls that wait or come after a waiting one have none. */
  readonly results: readonly CallResult[];
  readonly approvalId: ApprovalId | null;
  /** Set when `finish` was taken; `isEmpty`: with no change in the checkout. */
  readonly finished: { readonly summary: string; readonly title: string; readonly isEmpty: boolean } | null;
};

/** The round while it goes on. */
type Progress = {
  readonly results: Map<number, CallResult>;
  approvalId: ApprovalId | null;
  finished: Round["finished"];
  tree: string;
};

/**
 * Each call through the gateway: reads of one place side by side, at most 4; all else alone and in order (ACI-63). Calls
 * that already have a result, in a turn that is gone on with, are not made again.
 */
export async function runCalls(
  deps: LoopDeps,
  conversation: Conversation,
  round: { readonly calls: readonly PlacedCall[]; readonly response: ModelResponse },
  signal: AbortSignal,
): Promise<Round> {
  const known = conversation.pending?.results ?? [];
  const progress: Progress = {
    results: new Map(known.map((result) => [result.call.ordinal, result])),
    approvalId: null,
    finished: null,
    tree: conversation.watch.counts.idleTurns.memory.tree ?? (await deps.treeFingerprint()),
  };
  const open = round.calls.filter(({ ordinal }) => !progress.results.has(ordinal));
  for (const batch of batchesOf(open, deps.toolPlaces)) {
    if (progress.approvalId !== null) break; // what comes after a waiting call may build on it
    const answers = batch.map((call) => answer(deps, { conversation, progress, round }, call, signal));
    const settled = await Promise.allSettled(answers); // none may go on in the background when one throws
    const thrown = settled.find(({ status }) => status === "rejected");
    if (thrown?.status === "rejected") throw thrown.reason;
  }
  const results = round.calls.flatMap(({ ordinal }) => progress.results.get(ordinal) ?? []);
  return { results, approvalId: progress.approvalId, finished: progress.finished };
}

/** Neighbouring reads of one place together, at most 4; every other call by itself. */
function batchesOf(calls: readonly PlacedCall[], places: ReadonlyMap<string, ToolPlace>): PlacedCall[][] {
  const batches: PlacedCall[][] = [];
  let lastPlace: ToolPlace = "serial";
  for (const call of calls) {
    const place = places.get(call.name) ?? "serial";
    const last = batches.at(-1);
    if (place !== "serial" && place === lastPlace && last !== undefined && last.length < mostReadsAtOnce)
      last.push(call);
    else batches.push([call]);
    lastPlace = place;
  }
  return batches;
}

type Standing = {
  readonly conversation: Conversation;
  readonly progress: Progress;
  readonly round: { readonly calls: readonly PlacedCall[]; readonly response: ModelResponse };
};

async function answer(deps: LoopDeps, standing: Standing, call: PlacedCall, signal: AbortSignal): Promise<void> {
  const { conversation, progress } = standing;
  const words = refusalBeforehand(deps, standing, call, signal);
  if (words !== null) {
    progress.results.set(call.ordinal, ownAnswer(deps, call, words));
    return;
  }
  const isFinish = call.name === "finish" && jsonShape(call.rawArguments) === "whole";
  const isEmpty = isFinish && !(await deps.hasChanges());
  if (isEmpty && !conversation.emptyFinishRefused) {
    progress.results.set(call.ordinal, ownAnswer(deps, call, noChangeMeant));
    return;
  }
  const outcome = await deps.perform(call, signal);
  if (outcome.state === "approval_pending") {
    if (outcome.approvalId === null) throw new Error(`action \`${outcome.actionId}\` waits for no approval`);
    progress.approvalId ??= outcome.approvalId;
    return;
  }
  if (mayHaveChangedTree(outcome)) progress.tree = await deps.treeFingerprint();
  if (isFinish && outcome.status === "ok") progress.finished = { ...wordsOfFinish(call), isEmpty };
  progress.results.set(call.ordinal, toResult(deps, call, outcome, progress.tree));
}

/** Why the loop does not take this call up, or null. */
function refusalBeforehand(deps: LoopDeps, standing: Standing, call: PlacedCall, signal: AbortSignal) {
  const { conversation, progress, round } = standing;
  if (signal.aborted) return cancelled;
  if (progress.finished !== null) return afterFinish;
  if (call.ordinal >= mostCallsPerTurn) return tooManyCalls;
  if (isCut(call, round)) return truncatedCall(call.rawArguments, deps.maxOutputTokens);
  const isSerial = (deps.toolPlaces.get(call.name) ?? "serial") === "serial";
  if (isSerial && [...progress.results.values()].some(({ status }) => status === "unknown")) return afterUnknown;
  const path = pathOf(call.rawArguments);
  const isForced = call.name === "edit_file" && path !== null && conversation.watch.mustRead.has(path);
  return isForced ? readFirst(path) : null;
}

/** The last call of an answer that was cut off may parse and still be wrong; any call whose JSON is open is cut. */
function isCut(call: PlacedCall, { calls, response }: Standing["round"]): boolean {
  const answerWasCut = response.finishReason === "length" || response.finishReason === "content_filter";
  return (answerWasCut && call.ordinal === calls.length - 1) || jsonShape(call.rawArguments) === "cut";
}

/** Only actions change the tree, so its fingerprint is taken again after those alone. */
function mayHaveChangedTree(outcome: ActionOutcome): boolean {
  return outcome.status === "unknown" || (outcome.changeSet?.changes.length ?? 0) > 0;
}

function wordsOfFinish(call: PlacedCall): { summary: string; title: string } {
  const { summary, title } = argumentsOf(call.rawArguments);
  return { summary: typeof summary === "string" ? summary : "", title: typeof title === "string" ? title : "" };
}

function toResult(deps: LoopDeps, call: PlacedCall, outcome: ActionOutcome, tree: string): CallResult {
  const resultHash = hashResult(outcome);
  return {
    call,
    message: toolMessage(deps, call, outcome.text),
    status: outcome.status,
    code: outcome.refusal?.code ?? null,
    actionId: outcome.actionId,
    signature: [outcome.tool, outcome.argumentsDigest, resultHash, tree].join(" "),
    resultHash,
    tree,
    changed: (outcome.changeSet?.changes ?? []).map(({ path, before, after }) => ({
      path,
      base: before?.blobSha ?? null,
      after: after?.blobSha ?? null,
    })),
  };
}
