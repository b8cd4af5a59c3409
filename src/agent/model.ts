import type { JsonObject } from "../domain/index.ts";
import type { UntrustedText } from "./untrusted-text.ts";

/** One tool as the model is told of it; `parameters` is a JSON Schema. */
export type ToolDefinition = { readonly name: string; readonly description: string; readonly parameters: JsonObject };

/** A call as the model wrote it. `arguments` is the text as received: perhaps no JSON at all. */
export type ToolCall = { readonly id: string; readonly name: string; readonly arguments: string };

/** Rules of ours. Nothing untrusted ever stands here (SEC-17). */
export type SystemMessage = { readonly kind: "system"; readonly text: string };
/** The task, or a remark of ours between two turns. */
export type UserMessage = { readonly kind: "user"; readonly text: string };
export type AssistantMessage = {
  readonly kind: "assistant";
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
};
/** The answer to one call. `notice` is ours and is shown below it: a nudge, or what is left of a limit. */
export type ToolMessage = {
  readonly kind: "tool";
  readonly toolCallId: string;
  readonly content: UntrustedText;
  /** Of the content's block (SEC-17): kept, so that the same message always gives the same bytes (ACI-85). */
  readonly delimiter: string;
  readonly notice: string | null;
};
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

export type ModelRequest = {
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly maxOutputTokens: number;
};

/** Why the model stopped, in the protocol's words; `unknown` where the server did not say. It may lie (ACI-94). */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "unknown";

export type Usage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** True where the server gave no figures and they were counted at 3.5 characters a token (ACI-84). */
  readonly estimated: boolean;
};

export type ModelResponse = {
  /** The server's id; null where it gave none. */
  readonly responseId: string | null;
  /** The model that answered, as the server names it. */
  readonly model: string;
  readonly content: string;
  /** Thoughts, stored apart and never sent back (ACI-62, ACI-91). */
  readonly reasoning: string;
  /** Set where the model declined in the protocol's own field. */
  readonly refusal: string | null;
  readonly toolCalls: readonly ToolCall[];
  readonly finishReason: FinishReason;
  readonly usage: Usage;
  /** What broken attempts before this answer used, estimated: it counts against the limits (ACI-70). */
  readonly discarded: { readonly attempts: number; readonly inputTokens: number; readonly outputTokens: number };
};

/** What happens while the model answers (ACI-70). `discarded`: all events since `started` belong to a dropped answer. */
export type ModelEvent =
  | { readonly kind: "started"; readonly attempt: number }
  | { readonly kind: "text" | "reasoning"; readonly text: string }
  | { readonly kind: "call_started" | "call_finished"; readonly ordinal: number; readonly name: string }
  | { readonly kind: "usage"; readonly usage: Usage }
  | { readonly kind: "discarded"; readonly reason: string; readonly waitMs: number };

/**
 * Asks a model once. A call has no effect and may be repeated inside (ACI-70); a partial answer never comes out of it.
 * Throws `MODEL_UNAUTHORIZED`, `MODEL_NOT_FOUND`, `MODEL_REJECTED`, `MODEL_UNAVAILABLE`, `MODEL_SILENT`, or the
 * signal's reason, promptly.
 */
export type ModelClient = (
  request: ModelRequest,
  onEvent: (event: ModelEvent) => void,
  signal: AbortSignal,
) => Promise<ModelResponse>;
