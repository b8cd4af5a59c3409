import type { JsonObject } from "../domain/index.ts";
import type { Answer } from "./tool-answer.ts";

export type Call = { readonly tool: string; readonly arguments: JsonObject };

/** One answer of the model: a thought in words, and the calls that follow from it; no call is an end without a result. */
export type Move = { readonly say: string; readonly calls: readonly Call[] };

/** Why the solver can't go on: a tool result was not what it must be, or its means are used up. */
export type Stuck = { readonly kind: "stuck"; readonly because: string };

/** A part of the plan: yields moves, is sent their answers, returns what it found out. */
export type Plan<Found> = Generator<Move, Found, readonly Answer[]>;

export const stuck = (because: string): Stuck => ({ kind: "stuck", because });

/** A result on one line, for a message. */
export const brief = (answer: Answer | undefined): string =>
  answer === undefined ? "no answer" : answer.text.replace(/\s+/g, " ").trim().slice(0, 160);

/** One move with one call. */
export function* ask(say: string, tool: string, args: JsonObject): Plan<Answer | undefined> {
  const [answer] = yield { say, calls: [{ tool, arguments: args }] };
  return answer;
}
