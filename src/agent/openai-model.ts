import type { APIError, OpenAI } from "openai";
import { type Clock, cutRedacted, mapTexts, type RandomBytes, type Redact, type Redactor } from "../domain/index.ts";
import { accumulateStream } from "./accumulate-stream.ts";
import type { ModelClient, ModelEvent, ModelRequest, ModelResponse } from "./model.ts";
import { type Failure, mayRetry, mostRetries, parseRetryAfter, pauseMs, toError } from "./model-failure.ts";
import { readAnswer } from "./read-answer.ts";
import { watchSilence } from "./silence-watch.ts";
import { toWireMessage, toWireTool } from "./to-wire.ts";
import { tokensOf } from "./tokens.ts";

export type OpenAiModelDeps = {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** Throws the signal's reason after an abort. */
  readonly delay: (waitMs: number, signal: AbortSignal) => Promise<void>;
  /** No live secret stands in a prompt; all else stays as it is, since edits must match it (SEC-100). */
  readonly redactor: Pick<Redactor, "redact" | "redactExact">;
};

export type OpenAiModelOptions = {
  /** Without `/chat/completions`. */
  readonly baseUrl: string;
  /** Null for a server that asks for none. */
  readonly apiKey: string | null;
  readonly model: string;
  /** A server that sends nothing for so long is given up. */
  readonly silenceMs: number;
};

/** ACI-70 (tune). */
export const defaultSilenceMs = 120_000;

/** What this server has taught us about its requests (ACI-94): kept for the client's life. */
type Dialect = { outputLimit: "max_tokens" | "max_completion_tokens"; asksUsage: boolean };

type Opened = { readonly client: OpenAI; readonly errors: Pick<typeof OpenAI, "APIConnectionError" | "APIError"> };

type Session = {
  readonly deps: OpenAiModelDeps;
  readonly options: OpenAiModelOptions;
  readonly open: () => Promise<Opened>;
  readonly dialect: Dialect;
};

type Attempt =
  | { readonly kind: "answered"; readonly answer: Omit<ModelResponse, "discarded"> }
  | { readonly kind: "failed"; readonly failure: Failure; readonly inputTokens: number; readonly outputTokens: number };

/**
 * A client of any server that speaks OpenAI's chat completions (`POST {base}/chat/completions`, streamed; a server that
 * answers in one piece is understood too). Its errors name host, model and status, never the key.
 */
export function createOpenAiModel(deps: OpenAiModelDeps, options: OpenAiModelOptions): ModelClient {
  let opened: Promise<Opened> | null = null;
  const open = (): Promise<Opened> => {
    opened ??= openClient(options);
    return opened;
  };
  const session: Session = { deps, options, open, dialect: { outputLimit: "max_tokens", asksUsage: true } };
  return (request, onEvent, signal) => askWithRetries(session, request, onEvent, signal);
}

/** Loaded at the first request: of all that a command loads the package is a seventh, and most commands ask no model. */
async function openClient(options: OpenAiModelOptions): Promise<Opened> {
  const { OpenAI: Client } = await import("openai");
  const client = new Client({
    baseURL: options.baseUrl,
    apiKey: options.apiKey ?? "none",
    ...(options.apiKey === null ? { defaultHeaders: { Authorization: null } } : {}),
    // Null, or the package reads them from the environment.
    organization: null,
    project: null,
    adminAPIKey: null,
    webhookSecret: null,
    maxRetries: 0, // ours are below: theirs would hide attempts from the budget
    timeout: 2 * options.silenceMs + 60_000, // only a net under the silence watch
    logLevel: "off",
    fetchOptions: { redirect: "manual" }, // prompts go to the configured host and to no other
  });
  return { client, errors: Client };
}

async function askWithRetries(
  session: Session,
  request: ModelRequest,
  onEvent: (event: ModelEvent) => void,
  signal: AbortSignal,
): Promise<ModelResponse> {
  const { deps, options, dialect } = session;
  const discarded = { attempts: 0, inputTokens: 0, outputTokens: 0 };
  for (let attempt = 1; ; ) {
    signal.throwIfAborted();
    onEvent({ kind: "started", attempt });
    const tried = await askOnce(session, request, onEvent, signal);
    if (tried.kind === "answered") return { ...tried.answer, discarded };

    const { failure } = tried;
    discarded.attempts += 1;
    discarded.inputTokens += tried.inputTokens;
    discarded.outputTokens += tried.outputTokens;
    const asked = { host: new URL(options.baseUrl).host, model: options.model };
    const error = toError(failure, asked, attempt);
    const isLearned = learn(dialect, failure);
    if (!isLearned && (!mayRetry(failure) || attempt > mostRetries)) throw error;

    const [chance = 0] = deps.randomBytes(1);
    const waitMs = isLearned ? 0 : pauseMs(failure, attempt, chance / 255);
    onEvent({ kind: "discarded", reason: error.message, waitMs });
    if (isLearned) continue; // another request, not another attempt at the same one
    await deps.delay(waitMs, signal);
    attempt += 1;
  }
}

/** A parameter that the server does not take is left out from now on. False where there is nothing to learn. */
function learn(dialect: Dialect, failure: Failure): boolean {
  if (failure.kind !== "status" || failure.status !== 400) return false;
  if (failure.parameter === "max_tokens" && dialect.outputLimit === "max_tokens") {
    dialect.outputLimit = "max_completion_tokens";
    return true;
  }
  const isUsage = failure.parameter?.startsWith("stream_options") === true && dialect.asksUsage;
  if (isUsage) dialect.asksUsage = false;
  return isUsage;
}

async function askOnce(
  session: Session,
  request: ModelRequest,
  onEvent: (event: ModelEvent) => void,
  signal: AbortSignal,
): Promise<Attempt> {
  const { options, deps } = session;
  const { client, errors } = await session.open();
  const body = toBody(session, request);
  const inputTokens = tokensOf(JSON.stringify(body).length);
  const accumulator = accumulateStream(onEvent);
  using silence = watchSilence(options.silenceMs);
  const either = AbortSignal.any([signal, silence.signal]);
  const failed = (failure: Failure): Attempt => {
    const outputTokens = accumulator.writtenTokens();
    const cost = { inputTokens: outputTokens > 0 ? inputTokens : 0, outputTokens };
    return { kind: "failed", failure: withoutSecrets(deps.redactor.redact, failure, options.apiKey), ...cost };
  };
  try {
    const response = await client.chat.completions.create(body, { signal: either }).asResponse();
    const failure = await readAnswer(response, accumulator, silence.touch);
    if (failure !== null) return failed(failure);
    return { kind: "answered", answer: accumulator.finish({ model: options.model, inputTokens }) };
  } catch (error) {
    signal.throwIfAborted();
    if (silence.signal.aborted) return failed({ kind: "silent", silenceMs: options.silenceMs });
    const failure = failureOf(errors, error, deps.clock());
    if (failure === null) throw error;
    return failed(failure);
  }
}

function toBody({ deps, options, dialect }: Session, { messages, tools, maxOutputTokens }: ModelRequest) {
  return {
    model: options.model,
    messages: messages.map((message) => mapTexts(toWireMessage(message), deps.redactor.redactExact)),
    ...(tools.length === 0 ? {} : { tools: tools.map(toWireTool) }),
    stream: true as const,
    ...(dialect.asksUsage ? { stream_options: { include_usage: true } } : {}),
    [dialect.outputLimit]: maxOutputTokens,
  };
}

/** What an error says of the server; null where it is a bug of ours. */
function failureOf(errors: Opened["errors"], error: unknown, nowMs: number): Failure | null {
  if (error instanceof errors.APIConnectionError) return { kind: "connection", words: causeOf(error) };
  if (error instanceof errors.APIError) return apiFailure(error, nowMs);
  const isTransport = error instanceof TypeError && error.cause instanceof Error; // how fetch tells of a broken body
  return isTransport ? { kind: "connection", words: causeOf(error) } : null;
}

function apiFailure(error: APIError, nowMs: number): Failure {
  const said = (error.error as { message?: unknown } | undefined)?.message;
  const words = typeof said === "string" ? said : error.message.replace(/^\d+ /, "");
  if (error.status === undefined) return { kind: "connection", words };
  const retryAfterMs = parseRetryAfter(error.headers?.get("retry-after") ?? null, nowMs);
  return { kind: "status", status: error.status, words, retryAfterMs, parameter: error.param ?? null };
}

/** The innermost error code, such as ECONNREFUSED: the messages above it may hold the whole address. */
function causeOf(error: Error): string {
  let code = "connection broken";
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && typeof cause.code === "string") code = cause.code;
  }
  return code;
}

const longestWords = 300;

// INVARIANT: no message holds the key, even where the server echoes it (test/agent/openai-model.test.ts)
function withoutSecrets(redact: Redact, failure: Failure, apiKey: string | null): Failure {
  if (failure.kind === "silent") return failure;
  const safe = apiKey === null || apiKey === "" ? failure.words : failure.words.replaceAll(apiKey, "[redacted]");
  const line = redact(safe)
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, " ")
    .trim();
  return { ...failure, words: cutRedacted(redact(line), longestWords) };
}
