import { z } from "zod";
import type { Accumulator } from "./accumulate-stream.ts";
import { Chunk } from "./chunk.ts";
import type { Failure } from "./model-failure.ts";
import { readServerEvents } from "./server-events.ts";

/**
 * Reads an answer, streamed or in one piece, into the accumulator; `touch` hears of every byte. Null where it is whole.
 * Throws what the connection throws.
 */
export async function readAnswer(
  response: Response,
  accumulator: Accumulator,
  touch: () => void,
): Promise<Failure | null> {
  const isStream = response.headers.get("content-type")?.includes("text/event-stream") === true;
  if (isStream && response.body !== null) return readStream(response.body, accumulator, touch);
  const text = await readBounded(response);
  touch();
  if (text === null) return tooLarge;
  const looksLikeStream = /^\s*(?:data|event|id|retry)?:/.test(text); // under a type that says something else
  return looksLikeStream
    ? readStream(new Blob([text]).stream(), accumulator, touch)
    : readWhole(parseOrNull(text), text, accumulator);
}

/** Far above any answer within the output limit; below what would hurt this process. */
const largestAnswerBytes = 8 * 1024 * 1024;
const tooLarge: Failure = { kind: "connection", words: `the answer has more than ${largestAnswerBytes} bytes` };

/** The text of an answer in one piece, or null where it passes the limit; the rest is not read. */
async function readBounded(response: Response): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body ?? []) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > largestAnswerBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

async function readStream(
  body: ReadableStream<Uint8Array>,
  accumulator: Accumulator,
  touch: () => void,
): Promise<Failure | null> {
  let size = 0;
  for await (const data of readServerEvents(body, touch)) {
    size += data.length;
    if (size > largestAnswerBytes) return tooLarge;
    if (data.trim() === "[DONE]") return null;
    const parsed = parseOrNull(data);
    if (parsed === null) return { kind: "connection", words: "an event of the stream was cut off or no JSON" };
    const failure = errorIn(parsed);
    if (failure !== null) return failure;
    const chunk = Chunk.safeParse(parsed);
    if (chunk.success) accumulator.push(chunk.data);
  }
  return accumulator.isComplete() ? null : { kind: "connection", words: "the stream ended before the answer did" };
}

function readWhole(parsed: unknown, text: string, accumulator: Accumulator): Failure | null {
  const failure = errorIn(parsed);
  if (failure !== null) return failure;
  const chunk = Chunk.safeParse(parsed);
  if (!chunk.success || (chunk.data.choices ?? []).length === 0) return { kind: "no_answer", words: text };
  accumulator.push(chunk.data);
  return null;
}

const ErrorBody = z.object({
  error: z.object({
    message: z.string().catch("no message"),
    code: z.coerce.number().int().min(400).max(599).nullable().catch(null),
  }),
});

/** An error in place of an answer, under status 200: some servers put the status they mean into its code. */
function errorIn(parsed: unknown): Failure | null {
  const body = ErrorBody.safeParse(parsed);
  if (!body.success) return null;
  const { message: words, code: status } = body.data.error;
  if (status === null) return { kind: "connection", words };
  return { kind: "status", status, words, retryAfterMs: null, parameter: null };
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
