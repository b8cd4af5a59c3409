import { createHash } from "node:crypto";
import type { ActionId, ActionOutcome, ApprovalId, RefusalCode, ResultStatus, StopReason } from "../domain/index.ts";
import { assertNever } from "../domain/index.ts";
import type { AssistantMessage, ModelResponse, ToolMessage, Usage, UserMessage } from "./model.ts";

/** A call with its place: all that the gateway gets of the model's answer. The operation key is made of it (ACI-45). */
export type PlacedCall = {
  readonly toolCallId: string;
  readonly name: string;
  readonly rawArguments: string;
  /** From 1. */
  readonly turn: number;
  /** From 0 within the turn. */
  readonly ordinal: number;
  readonly modelResponseId: string | null;
};

/** The model's answer as stored, whole and sealed, before its first call is proposed (ACI-45). */
export type StoredResponse = { readonly turn: number; readonly response: ModelResponse };

/** What became of one call, as far as the loop remembers it. */
export type CallResult = {
  readonly call: PlacedCall;
  readonly message: ToolMessage;
  readonly status: ResultStatus;
  readonly code: RefusalCode | null;
  /** Null where the loop answered by itself and nothing was proposed. */
  readonly actionId: ActionId | null;
  /** Tool, canonical arguments, result and tree (ACI-69); null where nothing was proposed. */
  readonly signature: string | null;
  /** Hash of the result alone, without what differs from call to call. */
  readonly resultHash: string;
  /** Fingerprint of the tree after the call; null where nothing was proposed. */
  readonly tree: string | null;
  /** Paths this call changed, with git's blob ids in the base and after the call; null is an absent file. */
  readonly changed: readonly ChangedPath[];
};

export type ChangedPath = { readonly path: string; readonly base: string | null; readonly after: string | null };

export type Limit = "turns" | "time" | "input_tokens" | "output_tokens";

/** How the loop ended by itself. Failures of the model server, cancellation and bugs are thrown instead. */
export type LoopEnd =
  | { readonly kind: "finished" | "nothing_to_do"; readonly summary: string; readonly title: string }
  | { readonly kind: "out_of_budget"; readonly limit: Limit }
  | { readonly kind: "stuck"; readonly rule: string }
  | { readonly kind: "no_action" | "format_errors" | "context_exhausted" }
  | { readonly kind: "model_refused"; readonly text: string }
  /** Not an end but a pause: no worker waits. `runLoop` goes on from the saved turns once the person has decided. */
  | { readonly kind: "waiting"; readonly approvalId: ApprovalId };

/** One model call and the round of its tool calls. Plain data: a conversation is made anew from the saved turns alone. */
export type Turn = {
  /** From 1. */
  readonly number: number;
  readonly responseId: string | null;
  readonly usage: Usage;
  readonly discarded: ModelResponse["discarded"];
  /** What the request was estimated at before it was sent, uncorrected; the correction is learned from it (ACI-84). */
  readonly estimatedInputTokens: number;
  /** Null for an empty reply: no empty message ever stands in the history (ACI-89). */
  readonly assistant: AssistantMessage | null;
  /** In the order of the calls; one a call unless the turn waits. */
  readonly results: readonly CallResult[];
  /** A remark of ours after a turn without calls. */
  readonly remark: UserMessage | null;
  /** Limits of which the model was told in this turn that 80 % are used. */
  readonly noticed: readonly Limit[];
} & (
  | { readonly kind: "going_on" }
  /** A call waits for a person. `response` is what the turn goes on from; calls without a result are open. */
  | { readonly kind: "waiting"; readonly approvalId: ApprovalId; readonly response: ModelResponse }
  | { readonly kind: "ended"; readonly end: LoopEnd }
);

/** The run's stop reason for an end of the loop (ACI-67); null while it waits. */
export function stopReasonOf(end: LoopEnd): StopReason | null {
  switch (end.kind) {
    case "waiting":
      return null;
    case "out_of_budget":
      return (
        {
          turns: "limit_turns",
          time: "limit_time",
          input_tokens: "limit_tokens",
          output_tokens: "limit_tokens",
        } as const
      )[end.limit];
    case "finished":
    case "nothing_to_do":
    case "stuck":
    case "no_action":
    case "format_errors":
    case "context_exhausted":
    case "model_refused":
      return end.kind;
    default:
      return assertNever(end);
  }
}

/** Durations and page numbers differ each time that the same thing happens; so does the action's id. */
const volatile = /\b\d+(?:\.\d+)? ?(?:ms|s|us|µs|seconds?|minutes?)\b|\bout:\d+\b/g;

/** SHA-256 of a result without what differs from call to call, so that the same result twice is seen as the same. */
export function hashResult(outcome: ActionOutcome): string {
  const text = outcome.text.replaceAll(outcome.actionId, "").replace(volatile, "");
  return createHash("sha256").update(`${outcome.status}\n${text}`).digest("hex");
}
