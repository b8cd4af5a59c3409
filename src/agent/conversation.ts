import { assertNever } from "../domain/index.ts";
import { dataBlock } from "./data-block.ts";
import type { AssistantMessage, Message, ModelRequest, ToolDefinition, ToolMessage, Usage } from "./model.ts";
import { observe, startWatch, type Watch } from "./stuck.ts";
import type { CallResult, Limit, StoredResponse, Turn } from "./turn.ts";

/** What a conversation has used so far, dropped answers of the model included (ACI-70). */
export type Used = { readonly turns: number; readonly inputTokens: number; readonly outputTokens: number };

export const nothingUsed: Used = { turns: 0, inputTokens: 0, outputTokens: 0 };

/** A turn as it stands in the history: its messages, shortened after an epoch. */
export type HistoryItem = { readonly turn: Turn; readonly messages: readonly Message[]; readonly sizeChars: number };

/**
 * The whole state of a loop, never changed in place: a fold of the saved turns over the opening. Messages keep their
 * identity from request to request; only an epoch puts shorter ones in their place.
 */
export type Conversation = {
  readonly tools: readonly ToolDefinition[];
  /** System text and task: the prefix, byte-stable over the run (ACI-85). */
  readonly opening: readonly Message[];
  readonly openingChars: number;
  readonly history: readonly HistoryItem[];
  readonly used: Used;
  /** Moving average of real to estimated input tokens (ACI-84). */
  readonly correction: number;
  readonly noticed: readonly Limit[];
  /** Replies without a tool call, in a row. */
  readonly repliesWithoutCall: number;
  /** Whether a `finish` without changes was already sent back once (ACI-31). */
  readonly emptyFinishRefused: boolean;
  readonly callIds: ReadonlySet<string>;
  readonly watch: Watch;
  /** A turn that was begun: its stored answer is not asked for again, and calls with a result are not made again. */
  readonly pending: (StoredResponse & { readonly results: readonly CallResult[] }) | null;
};

/** The opening of a run: what the model is told before its first turn. */
export function openConversation(tools: readonly ToolDefinition[], opening: readonly Message[]): Conversation {
  return {
    tools,
    opening,
    openingChars: sizeOf(opening) + JSON.stringify(tools).length,
    history: [],
    used: nothingUsed,
    correction: 1,
    noticed: [],
    repliesWithoutCall: 0,
    emptyFinishRefused: false,
    callIds: new Set(),
    watch: startWatch,
    pending: null,
  };
}

/** The conversation after a turn. Of a waiting turn only the place is kept, so that the loop goes on with it. */
export function withTurn(conversation: Conversation, turn: Turn): Conversation {
  if (turn.kind === "waiting") {
    return { ...conversation, pending: { turn: turn.number, response: turn.response, results: turn.results } };
  }
  const messages = messagesOf(turn);
  return {
    ...conversation,
    history: [...conversation.history, { turn, messages, sizeChars: sizeOf(messages) }],
    used: usedAfter(conversation.used, turn),
    correction: correct(conversation.correction, turn),
    noticed: [...conversation.noticed, ...turn.noticed],
    repliesWithoutCall: turn.results.length === 0 ? conversation.repliesWithoutCall + 1 : 0,
    emptyFinishRefused: conversation.emptyFinishRefused || turn.results.some(isEmptyFinish),
    callIds: new Set([...conversation.callIds, ...turn.results.map(({ call }) => call.toolCallId)]),
    watch: observe(conversation.watch, turn.results).watch,
    pending: null,
  };
}

/** With one more answer of the model: whoever needs to know what is left while a turn goes on counts the same way. */
export function usedAfter(used: Used, answer: { readonly usage: Usage; readonly discarded: Turn["discarded"] }): Used {
  return {
    turns: used.turns + 1,
    inputTokens: used.inputTokens + answer.usage.inputTokens + answer.discarded.inputTokens,
    outputTokens: used.outputTokens + answer.usage.outputTokens + answer.discarded.outputTokens,
  };
}

/** A turn's messages: the model's, then one answer a call in the order of the calls, then our remark. */
export function messagesOf(turn: Turn): readonly Message[] {
  return [
    ...(turn.assistant === null ? [] : [turn.assistant]),
    ...turn.results.map(({ message }) => message),
    ...(turn.remark === null ? [] : [turn.remark]),
  ];
}

/** The next request. Between two epochs it begins with the whole of the one before (ACI-85). */
export function toModelRequest(conversation: Conversation, maxOutputTokens: number): ModelRequest {
  const messages = [...conversation.opening, ...conversation.history.flatMap((item) => item.messages)];
  checkMessages(messages);
  return { messages, tools: conversation.tools, maxOutputTokens };
}

/**
 * ACI-89, before every send: each call has exactly one answer with its id, right after its message and in order; ids are
 * unique; no orphans; no empty message of the model. A violation is a bug and is not sent.
 */
// INVARIANT: no request breaks the pairing of calls and answers (test/agent/conversation.test.ts)
export function checkMessages(messages: readonly Message[]): void {
  const seen = new Set<string>();
  let open: readonly string[] = [];
  for (const message of messages) {
    if (message.kind === "tool") {
      open = openAfter(message, open);
      continue;
    }
    requireNoneOpen(open);
    open = message.kind === "assistant" ? openedBy(message, seen) : [];
  }
  requireNoneOpen(open);
}

function openAfter(answer: ToolMessage, [expected, ...rest]: readonly string[]): readonly string[] {
  if (answer.toolCallId !== expected) throw new Error(`answer to \`${answer.toolCallId}\` is out of place`);
  return rest;
}

function requireNoneOpen([first]: readonly string[]): void {
  if (first !== undefined) throw new Error(`call \`${first}\` has no answer`);
}

function openedBy(message: AssistantMessage, seen: Set<string>): readonly string[] {
  if (message.toolCalls.length === 0 && message.text === "") throw new Error("a message of the model is empty");
  return message.toolCalls.map(({ id }) => {
    if (id === "" || seen.has(id)) throw new Error(`call id \`${id}\` is empty or used twice`);
    seen.add(id);
    return id;
  });
}

/** Braces, role and names around each message and call on the wire. */
const messageOverheadChars = 30;

/** Characters of messages, about as they go over the wire. */
export function sizeOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + messageOverheadChars + contentChars(message), 0);
}

function contentChars(message: Message): number {
  switch (message.kind) {
    case "system":
    case "user":
      return message.text.length;
    case "tool":
      return dataBlock(message.content, message.delimiter).length + (message.notice?.length ?? 0);
    case "assistant": {
      const callChars = message.toolCalls.map(
        (call) => messageOverheadChars + call.name.length + call.arguments.length,
      );
      return callChars.reduce((sum, chars) => sum + chars, message.text.length);
    }
    default:
      return assertNever(message);
  }
}

function isEmptyFinish(result: CallResult): boolean {
  return result.call.name === "finish" && result.actionId === null && result.code === "no_change";
}

/** ACI-84: weight 0.3, held within 0.5 and 2; a usage the server did not give is no sample. */
function correct(correction: number, turn: Turn): number {
  if (turn.usage.estimated || turn.usage.inputTokens <= 0 || turn.estimatedInputTokens <= 0) return correction;
  const sample = turn.usage.inputTokens / turn.estimatedInputTokens;
  return Math.min(2, Math.max(0.5, 0.7 * correction + 0.3 * sample));
}
