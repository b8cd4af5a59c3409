import type { RandomBytes, Refusal } from "../domain/index.ts";
import { toolMessage } from "./tool-message.ts";
import type { CallResult, PlacedCall } from "./turn.ts";

/** ACI-64. */
export const mostCallsPerTurn = 16;

type Words = Pick<Refusal, "code" | "received" | "allowed" | "remedy">;

/** The answer to a call that the loop does not take up. Nothing was proposed, so no action stands behind it. */
export function ownAnswer(deps: { readonly randomBytes: RandomBytes }, call: PlacedCall, words: Words): CallResult {
  // One header line and a body, as the gateway's refusals have them (ACI-5).
  const header = `refused: ${words.code}: ${words.received.replace(/\s+/g, " ")}`;
  const text = [header, words.allowed, words.remedy].join("\n");
  return {
    call,
    message: toolMessage(deps, call, text),
    status: "refused",
    code: words.code,
    actionId: null,
    signature: null,
    resultHash: words.code,
    tree: null,
    changed: [],
  };
}

const notExecuted = (received: string, allowed: string, remedy: string): Words => ({
  code: "not_executed",
  received,
  allowed,
  remedy,
});

export const tooManyCalls = notExecuted(
  "This call was not executed: it is beyond the limit of calls in one turn.",
  `A turn takes at most ${mostCallsPerTurn} calls.`,
  "Read the answers first; then call it again if it is still wanted.",
);

export const afterFinish = notExecuted(
  "This call was not executed: it stands after finish.",
  "finish ends the work; only calls before it run.",
  "Put what is still to be done before finish.",
);

export const afterUnknown = notExecuted(
  "This call was not executed: of an earlier call in this turn it is not known whether it took effect.",
  "After that only reading calls run in the same turn.",
  "Look at the files first; then call it again if it is still wanted.",
);

export const cancelled = notExecuted(
  "This call was not executed (cancelled).",
  "The run is being stopped; nothing starts any more.",
  "Nothing is to be done.",
);

export const readFirst = (path: string): Words => ({
  code: "not_read",
  received: `This edit of \`${path}\` was not taken up: the last edits of it were refused in a row.`,
  allowed: "The next edit of it is taken up after a read_file of it.",
  remedy: "Call read_file on the lines to change, then the edit again, in a later turn.",
});

export const noChangeMeant: Words = {
  code: "no_change",
  received: "finish was called, but no file differs from the base.",
  allowed: "Work ends with a change, or with the reason why none is needed.",
  remedy: "Is no change meant? Then call finish again and say why in the summary; else make the change first.",
};

export function truncatedCall(rawArguments: string, maxOutputTokens: number): Words {
  const end = rawArguments.slice(-60);
  return {
    code: "truncated_call",
    received: `The arguments of this call end after ${rawArguments.length} characters, before their JSON does or at the output limit; they end with \`${end}\`. Nothing was executed.`,
    allowed: `One answer has at most ${maxOutputTokens} output tokens.`,
    remedy: "Call it again in smaller pieces: fewer calls in a turn, a smaller edit, a first part of the file.",
  };
}
