import type { ChatMessage, ChatRequest } from "./chat-protocol.ts";
import type { Move } from "./plan.ts";
import { solve } from "./solver.ts";
import { type Answer, readAnswer } from "./tool-answer.ts";

/**
 * The next move of the conversation. The solver is run again from the start at each request and is fed the answers that the
 * messages hold: the conversation is its only state. Once it has given up it stays so, whatever is said to it.
 */
export function nextMove(request: ChatRequest): Move {
  const answers = answersOf(request.messages);
  const solver = solve(taskOf(request.messages));
  let answered = 0;
  let step = solver.next([]);
  while (!step.done) {
    const move = step.value;
    const given = answers.slice(answered, answered + move.calls.length);
    const mismatch = given.findIndex((answer, index) => answer.tool !== move.calls[index]?.tool);
    if (mismatch !== -1)
      return gaveUp(`the conversation holds a call that I did not make: \`${given[mismatch]?.tool}\``);
    if (given.length < move.calls.length) return remaining(request, move, given.length);
    answered += move.calls.length;
    step = solver.next(given);
  }
  return gaveUp(step.value.because);
}

/** What of a move is still to be called; one call a turn where the client asks for that. */
function remaining(request: ChatRequest, move: Move, done: number): Move {
  const calls = move.calls.slice(done, request.parallel_tool_calls === false ? done + 1 : undefined);
  const offered = new Set((request.tools ?? []).map((tool) => tool.function.name));
  const missing = calls.find((call) => !offered.has(call.tool));
  if (missing !== undefined) return gaveUp(`the tool \`${missing.tool}\` is not offered`);
  return { say: done === 0 ? move.say : "", calls };
}

const gaveUp = (because: string): Move => ({ say: `I can't go on: ${because}.`, calls: [] });

/** A block of text from others between delimiters, as a client may mark it: `[kind …; begins X]`, the text, `[ends X]`. */
const block = /\[(\w+)[^\n]*\bbegins (\w{16,})\]\n([\s\S]*?)\n\[ends \2\]/g;

/** The issue: what was said before the model's first answer, and of that the blocks of the issue where they are marked. */
function taskOf(messages: readonly ChatMessage[]): string {
  const first = messages.findIndex((message) => message.role === "assistant");
  const said = messages
    .slice(0, first === -1 ? messages.length : first)
    .filter((message) => message.role === "user")
    .map((message) => message.content ?? "")
    .join("\n");
  const marked = [...said.matchAll(block)].filter(([, kind]) => kind?.startsWith("issue"));
  return marked.length === 0 ? said : marked.map(([, , , text]) => text ?? "").join("\n");
}

/** The answers in the order of their calls; the protocol's check has already paired them. */
function answersOf(messages: readonly ChatMessage[]): readonly Answer[] {
  const texts = new Map(
    messages.flatMap((message) => (message.role === "tool" ? [[message.tool_call_id, message.content] as const] : [])),
  );
  return messages.flatMap((message) =>
    message.role === "assistant"
      ? (message.tool_calls ?? []).map((call) => readAnswer(call.function.name, texts.get(call.id) ?? ""))
      : [],
  );
}
