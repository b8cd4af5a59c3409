import { showHidden } from "../domain/index.ts";
import { argumentsOf } from "./arguments-of.ts";
import { estimateUncorrected } from "./context.ts";
import { type Conversation, usedAfter } from "./conversation.ts";
import type { LoopDeps } from "./loop-deps.ts";
import type { AssistantMessage, ModelResponse } from "./model.ts";
import { type Round, runCalls } from "./run-calls.ts";
import { observe } from "./stuck.ts";
import type { CallResult, LoopEnd, PlacedCall, Turn } from "./turn.ts";

/** ACI-68. */
const mostRepliesWithoutCall = 3;

/**
 * Takes one answer of the model: stores it whole, then each of its calls through the gateway, then says what the turn came
 * to. What waits for a person comes back as a waiting turn; what the loop itself refuses is part of the turn.
 */
export async function takeTurn(
  deps: LoopDeps,
  conversation: Conversation,
  response: ModelResponse,
  signal: AbortSignal,
): Promise<Turn> {
  const number = conversation.used.turns + 1;
  // INVARIANT: an answer is stored before its first call is proposed (test/agent/loop.test.ts)
  if (conversation.pending === null) await deps.saveResponse({ turn: number, response });
  const calls = placeCalls(conversation, response, number);
  const round = await runCalls(deps, conversation, { calls, response }, signal);
  const { usage, discarded, responseId } = response;
  const facts = { number, responseId, usage, discarded, estimatedInputTokens: estimateUncorrected(conversation) };
  const assistant = toMessage(response, calls);
  if (round.approvalId !== null) {
    const waiting = { kind: "waiting", approvalId: round.approvalId, response } as const;
    return { ...facts, assistant, results: round.results, remark: null, noticed: [], ...waiting };
  }
  const remark = round.results.length > 0 ? null : remarkOn(conversation, response);
  const observation = observe(conversation.watch, round.results);
  const end = endOf(conversation, response, round) ?? observation.end;
  if (end !== null) return { ...facts, assistant, results: round.results, remark, noticed: [], kind: "ended", end };

  const notice = deps.budget.notice(usedAfter(conversation.used, response), conversation.noticed);
  const said = withNotices(round.results, remark, [...observation.nudges, ...(notice === null ? [] : [notice.text])]);
  return { ...facts, assistant, ...said, noticed: said.isSaid ? (notice?.limits ?? []) : [], kind: "going_on" };
}

/** The loop's own ends; those of ACI-69 come from the watch. */
function endOf(conversation: Conversation, response: ModelResponse, round: Round): LoopEnd | null {
  if (round.finished !== null) {
    const { isEmpty, summary, title } = round.finished;
    return { kind: isEmpty ? "nothing_to_do" : "finished", summary, title };
  }
  if (round.results.length > 0) return null;
  if (response.refusal !== null || response.finishReason === "content_filter") {
    return { kind: "model_refused", text: response.refusal ?? response.content };
  }
  return conversation.repliesWithoutCall + 1 >= mostRepliesWithoutCall ? { kind: "no_action" } : null;
}

/** The server's ids are kept where they can serve; else ours, which every server's form allows (ACI-94). */
function placeCalls(conversation: Conversation, response: ModelResponse, turn: number): PlacedCall[] {
  const taken = new Set(conversation.callIds);
  return response.toolCalls.map((call, ordinal) => {
    const own = `c${String(turn).padStart(4, "0")}${String(ordinal).padStart(4, "0")}`;
    const toolCallId = /^[\w.:-]{1,64}$/.test(call.id) && !taken.has(call.id) ? call.id : own;
    taken.add(toolCallId);
    const { name, arguments: rawArguments } = call;
    return { toolCallId, name, rawArguments, turn, ordinal, modelResponseId: response.responseId };
  });
}

/** What goes into the history. Arguments that are no JSON object never do (ACI-90), nor names that a server rejects. */
function toMessage(response: ModelResponse, calls: readonly PlacedCall[]): AssistantMessage | null {
  const text = response.content.trim() === "" ? "" : response.content;
  if (text === "" && calls.length === 0) return null;
  const toolCalls = calls.map(({ toolCallId, name, rawArguments }) => ({
    id: toolCallId,
    name: name.replace(/[^\w-]/g, "_").slice(0, 64) || "unnamed",
    arguments: Object.keys(argumentsOf(rawArguments)).length > 0 ? rawArguments : "{}",
  }));
  return { kind: "assistant", text, toolCalls };
}

/** What to say to a reply without a call. An empty one is asked again once, with nothing said (ACI-68). */
function remarkOn(conversation: Conversation, response: ModelResponse): Turn["remark"] {
  const last = conversation.history.at(-1)?.turn;
  const wasEmpty = last !== undefined && last.assistant === null && last.remark === null;
  const isEmpty = response.content.trim() === "" && response.reasoning.trim() === "";
  if (isEmpty && !wasEmpty) return null;
  const cut = response.finishReason === "length" ? "Your answer reached the output limit before any tool call. " : "";
  const how =
    last?.remark === null || last === undefined
      ? "A reply without a tool call changes nothing and does not end the work. Go on with a tool call; when the work is done, call finish with a summary and a title."
      : "Call a tool, or finish.";
  return { kind: "user", text: cut + how };
}

/** Notices stand below the last answer, or in the remark; a turn that has neither can't carry them. */
function withNotices(
  results: readonly CallResult[],
  remark: Turn["remark"],
  notices: readonly string[],
): Pick<Turn, "results" | "remark"> & { readonly isSaid: boolean } {
  // They quote paths, and a path may hold anything: none may pose as a line of ours.
  const text = notices.map((notice) => showHidden(notice.replaceAll(/\s+/g, " ")).text).join("\n");
  const last = results.at(-1);
  if (text === "") return { results, remark, isSaid: true };
  if (last !== undefined) {
    const noticed = { ...last, message: { ...last.message, notice: text } };
    return { results: [...results.slice(0, -1), noticed], remark, isSaid: true };
  }
  return remark === null
    ? { results, remark, isSaid: false }
    : { results, remark: { kind: "user", text: `${remark.text}\n${text}` }, isSaid: true };
}
