import { createCallSlots } from "./call-slots.ts";
import { type Chunk, type Delta, textOf } from "./chunk.ts";
import type { FinishReason, ModelEvent, ModelResponse, Usage } from "./model.ts";
import { type Piece, splitThinking } from "./split-thinking.ts";
import { tokensOf } from "./tokens.ts";

export type Accumulator = {
  push(chunk: Chunk): void;
  /** Whether the server said that the answer is whole. */
  isComplete(): boolean;
  /** Tokens written so far, estimated: what a broken attempt has cost. */
  writtenTokens(): number;
  finish(asked: { readonly model: string; readonly inputTokens: number }): Omit<ModelResponse, "discarded">;
};

/** Makes one answer out of the chunks of any OpenAI-compatible server, in whatever way it cuts them (ACI-94). */
export function accumulateStream(onEvent: (event: ModelEvent) => void): Accumulator {
  const calls = createCallSlots(onEvent);
  const thinking = splitThinking();
  const written = { text: "", reasoning: "", refusal: "" };
  const told: Told = { responseId: null, model: null, reason: null, usage: null };

  const write = (piece: Piece): void => {
    written[piece.kind] += piece.text;
    onEvent(piece);
  };
  const take = (delta: Delta): void => {
    const thought = delta.reasoning_content ?? delta.reasoning ?? "";
    if (thought !== "") write({ kind: "reasoning", text: thought });
    thinking.push(textOf(delta.content)).forEach(write);
    written.refusal += delta.refusal ?? "";
    const pieces = delta.tool_calls ?? [];
    for (const [position, piece] of pieces.entries()) calls.push(piece, pieces.length > 1 ? position : null);
  };
  const writtenTokens = (): number => tokensOf(written.text.length + written.reasoning.length + calls.sizeChars());

  return {
    push: (chunk) => {
      const choice = chunk.choices?.[0]; // none in a chunk that only tells the usage
      const delta = choice?.delta ?? choice?.message;
      if (delta) take(delta);
      note(told, chunk);
    },
    isComplete: () => told.reason !== null,
    writtenTokens,
    finish: (asked) => {
      thinking.end().forEach(write);
      const finishReason = finishReasonOf(told.reason);
      const toolCalls = calls.finish(finishReason === "length");
      const usage = told.usage ?? { inputTokens: asked.inputTokens, outputTokens: writtenTokens(), estimated: true };
      onEvent({ kind: "usage", usage });
      const { text: content, reasoning } = written;
      const refusal = written.refusal === "" ? null : written.refusal;
      const { responseId, model } = told;
      return { responseId, model: model ?? asked.model, content, reasoning, refusal, toolCalls, finishReason, usage };
    },
  };
}

/** What the server tells about its answer, in whichever chunk. */
type Told = { responseId: string | null; model: string | null; reason: string | null; usage: Usage | null };

/** The last one that is there wins: usage comes early and null, late, or more than once. */
function note(told: Told, chunk: Chunk): void {
  told.responseId = chunk.id || told.responseId;
  told.model = chunk.model || told.model;
  told.reason = chunk.choices?.[0]?.finish_reason ?? told.reason;
  told.usage = usageOf(chunk) ?? told.usage;
}

function usageOf(chunk: Chunk): Usage | null {
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = chunk.usage ?? {};
  return typeof inputTokens === "number" ? { inputTokens, outputTokens: outputTokens ?? 0, estimated: false } : null;
}

function finishReasonOf(reason: string | null): FinishReason {
  switch (reason) {
    case "stop":
    case "length":
    case "tool_calls":
    case "content_filter":
      return reason;
    case "function_call":
      return "tool_calls";
    default:
      return "unknown";
  }
}
