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
  const body = bounded(response.body ?? []);
  try {
    if (isStream) return await readStream(body, accumulator, touch);
    const text = await textOf(body);
    touch();
    const looksLikeStream = /^\s*(?:data|event|id|retry)?:/.test(text); // under a type that says something else
    return looksLikeStream
      ? await readStream(new Blob([text]).stream(), accumulator, touch)
      : readWhole(parseOrNull(text), text, accumulator);
  } catch (error) {
    if (error instanceof AnswerTooLarge) return { kind: "connection", words: error.message };
    throw error;
  }
}

/** Far above any answer within the output limit; below what would hurt this process. */
const largestAnswerBytes = 8 * 1024 * 1024;

class AnswerTooLarge extends Error {
  constructor() {
    super(`the answer has more than ${largestAnswerBytes} bytes`);
  }
}

/** All bytes of an answer, whatever they are cut into; past the limit the rest is not read. */
async function* bounded(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let sizeBytes = 0;
  for await (const bytes of body) {
    sizeBytes += bytes.byteLength;
    if (sizeBytes > largestAnswerBytes) throw new AnswerTooLarge();
    yield bytes;
  }
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const bytes of body) chunks.push(bytes);
  return Buffer.concat(chunks).toString("utf8");
}

async function readStream(
  body: AsyncIterable<Uint8Array>,
  accumulator: Accumulator,
  touch: () => void,
): Promise<Failure | null> {
  for await (const data of readServerEvents(body, touch)) {
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
