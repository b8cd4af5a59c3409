import { createHash } from "node:crypto";
import type { ChatRequest } from "./chat-protocol.ts";
import type { Move } from "./plan.ts";

type Piece = {
  readonly delta: Readonly<Record<string, unknown>>;
  readonly finish_reason: "stop" | "tool_calls" | null;
};

/** One answer with everything that its stream and its whole form share. The same request gets the same ids. */
export type ChatAnswer = {
  readonly id: string;
  readonly created: number;
  readonly model: string;
  readonly content: string;
  readonly toolCalls: readonly { id: string; type: "function"; function: { name: string; arguments: string } }[];
  readonly usage: Readonly<Record<string, number>>;
};

/** Characters in one delta: small, so that clients have to put texts and arguments together. */
const deltaCharacters = 24;

/** OpenAI's rule of thumb is 4 characters a token; the repository's estimate is 3.5, so usage corrects it in the tests. */
const charactersPerToken = 4;

/** Words a move as an answer. `nowMs` only dates it. */
export function toAnswer(request: ChatRequest, move: Move, nowMs: number): ChatAnswer {
  const prompt = JSON.stringify([request.messages, request.tools ?? []]);
  const hash = createHash("sha256").update(prompt).digest("hex");
  const toolCalls = move.calls.map((call, index) => ({
    id: `call_${hash.slice(0, 20)}${String(index).padStart(4, "0")}`,
    type: "function" as const,
    function: { name: call.tool, arguments: JSON.stringify(call.arguments) },
  }));
  const promptTokens = Math.ceil(prompt.length / charactersPerToken);
  const completionTokens = Math.ceil((move.say.length + JSON.stringify(toolCalls).length) / charactersPerToken);
  return {
    id: `chatcmpl-${hash.slice(0, 29)}`,
    created: Math.floor(nowMs / 1000),
    model: request.model,
    content: move.say,
    toolCalls,
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    },
  };
}

/** The answer to a request without `stream`. */
export function toCompletion(answer: ChatAnswer): Readonly<Record<string, unknown>> {
  const calls = answer.toolCalls.length > 0 ? { tool_calls: answer.toolCalls } : {};
  return {
    id: answer.id,
    object: "chat.completion",
    created: answer.created,
    model: answer.model,
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: answer.content === "" ? null : answer.content, refusal: null, ...calls },
        logprobs: null,
        finish_reason: finishReason(answer),
      },
    ],
    usage: answer.usage,
  };
}

/** The `data:` payloads of the stream in their order, `[DONE]` included. */
export function* toStream(answer: ChatAnswer, includeUsage: boolean): Generator<string> {
  const chunk = (choices: readonly unknown[], usage: unknown): string =>
    JSON.stringify({
      id: answer.id,
      object: "chat.completion.chunk",
      created: answer.created,
      model: answer.model,
      choices,
      ...(includeUsage ? { usage } : {}),
    });
  for (const piece of pieces(answer)) yield chunk([{ index: 0, ...piece, logprobs: null }], null);
  if (includeUsage) yield chunk([], answer.usage);
  yield "[DONE]";
}

function* pieces(answer: ChatAnswer): Generator<Piece> {
  yield { delta: { role: "assistant", content: answer.content === "" ? null : "" }, finish_reason: null };
  for (const content of slices(answer.content)) yield { delta: { content }, finish_reason: null };
  for (const [index, call] of answer.toolCalls.entries()) {
    const opening = { index, id: call.id, type: call.type, function: { name: call.function.name, arguments: "" } };
    yield { delta: { tool_calls: [opening] }, finish_reason: null };
    for (const part of slices(call.function.arguments))
      yield { delta: { tool_calls: [{ index, function: { arguments: part } }] }, finish_reason: null };
  }
  yield { delta: {}, finish_reason: finishReason(answer) };
}

const finishReason = (answer: ChatAnswer): "stop" | "tool_calls" =>
  answer.toolCalls.length > 0 ? "tool_calls" : "stop";

/** Cuts between code points, never inside one. */
function* slices(text: string): Generator<string> {
  const points = [...text];
  for (let from = 0; from < points.length; from += deltaCharacters)
    yield points.slice(from, from + deltaCharacters).join("");
}
