import type { JsonValue } from "../domain/index.ts";
import { pathOf } from "./arguments-of.ts";
import { type Conversation, type HistoryItem, messagesOf, sizeOf } from "./conversation.ts";
import type { AssistantMessage, ToolCall, ToolMessage } from "./model.ts";
import { tokensOf } from "./tokens.ts";
import type { CallResult, Turn } from "./turn.ts";
import { untrusted } from "./untrusted-text.ts";

/** What the estimate may be off by (ACI-83). */
const safetyShare = 0.05;
/** An epoch happens when the estimate passes this share of the budget (ACI-87). */
const pressureShare = 0.8;
/** Turns whose observations stay whole, tried in this order (ACI-86, ACI-88). */
const windows = [5, 3, 1] as const;
/** ACI-90. */
const longestLeaf = 500;

export type ContextDeps = { readonly contextTokens: number; readonly maxOutputTokens: number };

/** Input tokens of the next request by the plain rule of 3.5 characters a token: what the correction is learned from. */
export function estimateUncorrected(conversation: Conversation): number {
  return tokensOf(conversation.history.reduce((sum, item) => sum + item.sizeChars, conversation.openingChars));
}

/** Input tokens of the next request, corrected by what the server counted so far. */
export function estimateTokens(conversation: Conversation): number {
  return Math.ceil(estimateUncorrected(conversation) * conversation.correction);
}

/**
 * Makes room for the next request. Without pressure the same conversation comes back; under pressure an epoch shortens
 * what is older than the last 5 turns, or 3, or 1 (ACI-86 to ACI-88). Null: not even one turn fits.
 */
export function makeRoom(deps: ContextDeps, conversation: Conversation): Conversation | null {
  const budget = Math.floor((deps.contextTokens - deps.maxOutputTokens) * (1 - safetyShare));
  if (estimateTokens(conversation) <= pressureShare * budget) return conversation;
  for (const window of windows) {
    const shortened = shorten(conversation, window);
    const share = window === 1 ? 1 : pressureShare;
    if (estimateTokens(shortened) <= share * budget) return shortened;
  }
  return null;
}

/**
 * One epoch: observations older than the last `window` turns become one line each. A pure function of the saved turns, so
 * that the same cut always gives the same bytes. It cuts whole turns, so no call is ever parted from its answer.
 */
export function shorten(conversation: Conversation, window: number): Conversation {
  const pinned = lastFailingTest(conversation.history);
  const cut = conversation.history.length - window;
  const history = conversation.history.map((item, position) => (position < cut ? shortItem(item, pinned) : item));
  return { ...conversation, history };
}

/** The one observation that is pinned: what the tests said when they last failed (ACI-88). */
function lastFailingTest(history: readonly HistoryItem[]): CallResult | null {
  const results = history.flatMap((item) => item.turn.results);
  return results.findLast(({ call, status }) => call.name === "run_tests" && status === "failed") ?? null;
}

function shortItem(item: HistoryItem, pinned: CallResult | null): HistoryItem {
  const { turn } = item;
  const shortTurn: Turn = {
    ...turn,
    assistant: turn.assistant === null ? null : shortAssistant(turn.assistant),
    results: turn.results.map((result) => (result === pinned ? result : { ...result, message: shortAnswer(result) })),
  };
  const messages = messagesOf(shortTurn);
  // The whole turn is kept: the next epoch starts from it again, and pins may have moved.
  return { turn, messages, sizeChars: sizeOf(messages) };
}

function shortAssistant(message: AssistantMessage): AssistantMessage {
  return { ...message, toolCalls: message.toolCalls.map((call) => ({ ...call, arguments: shortArguments(call) })) };
}

/** ACI-90: never sliced as text; string leaves over 500 characters are replaced inside the parsed JSON. */
function shortArguments(call: ToolCall): string {
  const parsed: JsonValue = JSON.parse(call.arguments);
  const shortened = replaceLongLeaves(parsed);
  return shortened === parsed ? call.arguments : JSON.stringify(shortened);
}

function replaceLongLeaves(value: JsonValue): JsonValue {
  if (typeof value === "string") {
    return value.length > longestLeaf ? `[${value.length} characters left out to save room]` : value;
  }
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value);
  const replaced = entries.map(([key, inner]) => [key, replaceLongLeaves(inner)] as const);
  if (replaced.every(([, inner], position) => inner === entries[position]?.[1])) return value;
  return Array.isArray(value) ? replaced.map(([, inner]) => inner) : Object.fromEntries(replaced);
}

const longestShownCall = 200;
const writers: ReadonlySet<string> = new Set(["edit_file", "create_file", "delete_file"]);

/** One deterministic line: tool, target, status, size, and the call that gets it back (ACI-86). */
function shortAnswer(result: CallResult): ToolMessage {
  const { content } = result.message;
  const line = `${result.call.name}${targetOf(result)}: ${result.status}, ${content.text.length} characters left out to save room; ${wayBack(result)}`;
  if (content.text.length <= line.length) return { ...result.message, notice: null };
  return { ...result.message, content: untrusted(line, { kind: "tool_result" }), notice: null };
}

function targetOf({ call }: CallResult): string {
  const path = pathOf(call.rawArguments);
  return path === null ? "" : ` ${path.slice(0, longestShownCall)}`;
}

function wayBack(result: CallResult): string {
  const { name, rawArguments } = result.call;
  if (result.signature === null) return "nothing was executed";
  const page = /\bout:\d+\b/.exec(result.message.content.text);
  if (page !== null) return `read_file{"path":"${page[0]}"} gets it back`;
  if (writers.has(name)) return "read_file shows the file as it is now";
  return rawArguments.length > longestShownCall ? "the same call gets it back" : `${name}${rawArguments} gets it back`;
}
