import { asEvents, type ModelServer, sendStream, startModelServer } from "./model-server.ts";

/** What a model whose answers a test wrote by hand does next. */
export type Move =
  | { readonly kind: "call"; readonly tool: string; readonly arguments: Readonly<Record<string, unknown>> }
  /** Takes the request and never answers. */
  | { readonly kind: "hang" };

export const call = (tool: string, args: Readonly<Record<string, unknown>>): Move => ({
  kind: "call",
  tool,
  arguments: args,
});

export const finish: Move = call("finish", { title: "Done", summary: "What was planned is done." });

/**
 * Any OpenAI-compatible server, answered by hand: the n-th request of a conversation gets the n-th move, the last one again
 * and again. `onRequest` hears the number of each request before it is answered.
 */
export function startPlannedModel(
  moves: readonly Move[],
  onRequest: (number: number) => void = () => undefined,
): Promise<ModelServer> {
  return startModelServer((response, { body }) => {
    const messages = body["messages"] as readonly { readonly role: string }[];
    const number = messages.filter(({ role }) => role === "assistant").length;
    onRequest(number);
    const move = moves[Math.min(number, moves.length - 1)];
    if (move === undefined || move.kind === "hang") return;
    sendStream(response, asEvents(chunksOf(move, number)));
  });
}

function chunksOf(move: Extract<Move, { kind: "call" }>, number: number): readonly unknown[] {
  const shared = { id: `answer-${number}`, object: "chat.completion.chunk", created: 0, model: "planned" };
  const called = { name: move.tool, arguments: JSON.stringify(move.arguments) };
  const toolCalls = [{ index: 0, id: `call_${number}`, type: "function", function: called }];
  const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
  return [
    { ...shared, choices: [{ index: 0, delta: { role: "assistant", tool_calls: toolCalls }, finish_reason: null }] },
    { ...shared, choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }], usage },
  ];
}
