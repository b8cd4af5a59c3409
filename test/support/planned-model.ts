import { asEvents, type ModelServer, sendJson, sendStream, startModelServer } from "./model-server.ts";

type Call = { readonly kind: "call"; readonly tool: string; readonly arguments: Readonly<Record<string, unknown>> };

/** What a model whose answers a test wrote by hand does next. */
export type Move =
  | Call
  /** Many in one answer. */
  | { readonly kind: "calls"; readonly calls: readonly Call[] }
  /** The same in one piece, although a stream was asked for. */
  | { readonly kind: "whole"; readonly call: Call }
  | { readonly kind: "status"; readonly status: number; readonly message: string }
  /** Cuts the connection before any answer. */
  | { readonly kind: "cut" }
  /** Takes the request and never answers. */
  | { readonly kind: "hang" };

export const call = (tool: string, args: Readonly<Record<string, unknown>>): Call => ({
  kind: "call",
  tool,
  arguments: args,
});

export const finish: Call = call("finish", { title: "Done", summary: "What was planned is done." });

/**
 * Any OpenAI-compatible server, answered by hand: the n-th request of a conversation gets the n-th move, the last one again
 * and again. `onRequest` hears the number of each request and all that was said before it is answered, and may hold it up.
 */
export function startPlannedModel(
  moves: readonly Move[],
  onRequest: (number: number, said: string) => void | Promise<void> = () => undefined,
): Promise<ModelServer> {
  return startModelServer(async (response, { body }) => {
    const messages = body["messages"] as readonly { readonly role: string }[];
    const number = messages.filter(({ role }) => role === "assistant").length;
    await onRequest(number, JSON.stringify(messages));
    const move = moves[Math.min(number, moves.length - 1)];
    switch (move?.kind) {
      case "call":
        return sendStream(response, asEvents(chunksOf([move], number)));
      case "calls":
        return sendStream(response, asEvents(chunksOf(move.calls, number)));
      case "whole":
        return sendJson(response, 200, completionOf(move.call, number));
      case "status":
        return sendJson(response, move.status, { error: { message: move.message, type: "refused", code: null } });
      case "cut":
        return void response.destroy();
      default:
        return;
    }
  });
}

const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };

const toolCallsOf = (calls: readonly Call[], number: number): readonly Readonly<Record<string, unknown>>[] =>
  calls.map((made, place) => ({
    id: place === 0 ? `call_${number}` : `call_${number}_${place}`,
    type: "function",
    function: { name: made.tool, arguments: JSON.stringify(made.arguments) },
  }));

function completionOf(move: Call, number: number): unknown {
  const message = { role: "assistant", content: null, tool_calls: toolCallsOf([move], number) };
  const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
  return { id: `answer-${number}`, object: "chat.completion", created: 0, model: "planned", choices, usage };
}

function chunksOf(calls: readonly Call[], number: number): readonly unknown[] {
  const shared = { id: `answer-${number}`, object: "chat.completion.chunk", created: 0, model: "planned" };
  const toolCalls = toolCallsOf(calls, number).map((one, index) => ({ index, ...one }));
  return [
    { ...shared, choices: [{ index: 0, delta: { role: "assistant", tool_calls: toolCalls }, finish_reason: null }] },
    { ...shared, choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }], usage },
  ];
}
