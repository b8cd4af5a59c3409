import {
  type Conversation,
  createBudget,
  type LoopDeps,
  type LoopEnd,
  type ModelRequest,
  type ModelResponse,
  openConversation,
  openingMessages,
  type PlacedCall,
  runLoop,
  type StoredResponse,
  type ToolPlace,
  type Turn,
} from "../../src/agent/index.ts";
import {
  type ActionId,
  type ActionOutcome,
  type Budget,
  defaultBudget,
  type RefusalCode,
} from "../../src/domain/index.ts";
import { visibleText } from "./texts.ts";

const toolPlaces: ReadonlyMap<string, ToolPlace> = new Map([
  ["read_file", "host_read"],
  ["find_files", "host_read"],
  ["search_text", "sandbox_read"],
]);

export type WrittenCall = readonly [name: string, args: unknown, id?: string];

/** An answer of the model with these calls; arguments that are a text are taken as they are. */
export function anAnswer(calls: readonly WrittenCall[], changes: Partial<ModelResponse> = {}): ModelResponse {
  return {
    responseId: "r",
    model: "m",
    content: "",
    reasoning: "",
    refusal: null,
    toolCalls: calls.map(([name, args, id = ""]) => {
      return { id, name, arguments: typeof args === "string" ? args : JSON.stringify(args) };
    }),
    finishReason: calls.length > 0 ? "tool_calls" : "stop",
    usage: { inputTokens: 100, outputTokens: 10, estimated: false },
    discarded: { attempts: 0, inputTokens: 0, outputTokens: 0 },
    ...changes,
  };
}

export const finish = anAnswer([["finish", { summary: "was wrong, is right", title: "Mend it" }]]);

let actionCount = 0;

export function anOutcome(call: PlacedCall, changes: Partial<ActionOutcome> = {}): ActionOutcome {
  actionCount += 1;
  return {
    actionId: `00000000-0000-7000-8000-${String(actionCount).padStart(12, "0")}` as ActionId,
    tool: call.name,
    state: "succeeded",
    status: "ok",
    text: `ok ${call.name} ${call.rawArguments}`,
    record: {},
    refusal: null,
    decision: null,
    approvalId: null,
    changeSet: null,
    argumentsDigest: call.rawArguments,
    durationMs: 1,
    ...changes,
  };
}

export function refusedOutcome(call: PlacedCall, code: RefusalCode): ActionOutcome {
  const refusal = { code, received: "r", allowed: "a", remedy: "m", example: null, attachment: "" };
  return anOutcome(call, { state: "invalid", status: "refused", text: `refused: ${code}`, refusal });
}

/** An outcome that wrote `content` (as its blob id) to a file. */
export function changedOutcome(call: PlacedCall, path: string, content: string): ActionOutcome {
  const before = { mode: "100644", blobSha: "base", sizeBytes: 4 } as const;
  const after = { mode: "100644", blobSha: content, content: Buffer.from(content) } as const;
  return anOutcome(call, { changeSet: { changes: [{ path, before, after }] } });
}

export type Script = readonly (ModelResponse | ((request: ModelRequest) => ModelResponse))[];

export type LoopChanges = Partial<Omit<LoopDeps, "budget">> & {
  readonly limits?: Partial<Budget>;
  /** Minutes since the start of the run, asked at each look at the clock. */
  readonly minutes?: () => number;
};

/** A loop whose model is a list of answers and whose world is a log of what it was asked to do. */
export function aLoop(script: Script, changes: LoopChanges = {}) {
  const log: string[] = [];
  const requests: ModelRequest[] = [];
  const responses: StoredResponse[] = [];
  const turns: Turn[] = [];
  const { limits, minutes = () => 0, ...rest } = changes;
  const deps: LoopDeps = {
    randomBytes: (count) => new Uint8Array(count).fill(9),
    model: (request) => {
      log.push("ask");
      requests.push(request);
      const answer = script[requests.length - 1];
      if (answer === undefined) throw new Error("the script has no more answers");
      return Promise.resolve(typeof answer === "function" ? answer(request) : answer);
    },
    onEvent: () => {},
    budget: createBudget({ clock: () => minutes() * 60_000 }, { ...defaultBudget, ...limits }, 0, 8192),
    contextTokens: 128_000,
    maxOutputTokens: 8192,
    toolPlaces,
    perform: (call) => Promise.resolve(anOutcome(call)),
    saveResponse: (stored) => {
      log.push(`save answer ${stored.turn}`);
      responses.push(stored);
      return Promise.resolve();
    },
    saveTurn: (turn) => {
      log.push(`save turn ${turn.number}`);
      turns.push(turn);
      return Promise.resolve();
    },
    treeFingerprint: () => Promise.resolve("tree"),
    hasChanges: () => Promise.resolve(true),
    ...rest,
  };
  const logged: LoopDeps = {
    ...deps,
    perform: (call, signal) => {
      log.push(`perform ${call.name}`);
      return deps.perform(call, signal);
    },
  };
  const run = (signal = new AbortController().signal, opening = anOpening()): Promise<LoopEnd> =>
    runLoop(logged, opening, signal);
  return { deps: logged, log, requests, responses, turns, run };
}

export function anOpening(): Conversation {
  const randomBytes = (count: number): Uint8Array => new Uint8Array(count).fill(7);
  const task = {
    title: visibleText("Sum is wrong", "issue_title"),
    body: visibleText("It adds one."),
    request: null,
    verifyCommand: null,
  };
  return openConversation(
    [{ name: "finish", description: "Ends.", parameters: { type: "object" } }],
    openingMessages({ randomBytes }, task),
  );
}

/** The texts of the answers to the calls of the last turn in a request. */
export function lastAnswers(request: ModelRequest | undefined): readonly string[] {
  const messages = request?.messages ?? [];
  const lastAnswer = messages.findLastIndex(({ kind }) => kind === "assistant");
  return messages.slice(lastAnswer + 1).map((message) => {
    if (message.kind === "tool") return message.content.text + (message.notice === null ? "" : `\n\n${message.notice}`);
    return message.kind === "user" ? message.text : "";
  });
}
