import { type Clock, isCountersignError, type Redactor } from "../../domain/index.ts";
import type { Store, Transaction } from "../../store/index.ts";
import { postSpans, type SpanReceiver } from "./post-spans.ts";
import { redactedSpan } from "./redacted-span.ts";
import { type ClaimedSpan, claimSpans, markRefused, markSent, pendingSpans } from "./span-outbox.ts";

export type SpanSenderDeps = {
  readonly store: Store;
  readonly clock: Clock;
  /** Waits; rejects with the signal's reason when it is aborted. */
  readonly delay: (waitMs: number, signal: AbortSignal) => Promise<void>;
  /** Told once when the receiver begins to fail, and of each span that it refused for good. */
  readonly notice: (line: string) => void;
  readonly redactor: Pick<Redactor, "redact">;
};

export type SpanSenderSettings = SpanReceiver & { readonly publicUrl: string | null };

/** What is still here after a flush. `trouble` is a code: why the receiver did not take it; null where it did. */
export type Flushed = { readonly pending: number; readonly trouble: string | null };

/** Sends completed spans while it lives, beside any number of others. Disposing ends the request in hand and sends no more. */
export type SpanSender = AsyncDisposable & {
  /** Sends what is pending until nothing is, the receiver fails, or the signal is aborted. Throws nothing of the receiver. */
  flush(signal: AbortSignal): Promise<Flushed>;
};

const spansARequest = 200;
const idleMs = 1000;
const firstPauseMs = 1000;
const longestPauseMs = 60_000;

const pauseMs = (failures: number): number => Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1));

/**
 * Starts sending. A span is marked only on a clean 2xx: whatever is killed in between sends it again with the same id and
 * the same content (AUD-69, AUD-71). Whether or not a receiver is there, the rows stay.
 */
export function startSpanSender(deps: SpanSenderDeps, settings: SpanSenderSettings): SpanSender {
  const stop = new AbortController();
  const sender: Sender = { deps, settings, isToldOf: false, turn: Promise.resolve() };
  const loop = sendForEver(sender, stop.signal);
  return {
    flush: (signal) => flush(sender, AbortSignal.any([signal, stop.signal])),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await loop;
    },
  };
}

/** `turn`: the round under way; rounds of one process come one after the other. */
type Sender = {
  readonly deps: SpanSenderDeps;
  readonly settings: SpanSenderSettings;
  isToldOf: boolean;
  turn: Promise<unknown>;
};

async function sendForEver(sender: Sender, signal: AbortSignal): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const { claimed, trouble } = await nextRound(sender, signal);
    failures = trouble === null ? 0 : failures + 1;
    const waitMs = failures > 0 ? pauseMs(failures) : idleMs;
    if (claimed === 0 || trouble !== null) await sender.deps.delay(waitMs, signal).catch(() => undefined);
  }
}

async function flush(sender: Sender, signal: AbortSignal): Promise<Flushed> {
  for (;;) {
    const { claimed, trouble } = await orAborted(nextRound(sender, signal), signal);
    if (claimed > 0 && trouble === null) continue;
    if (trouble === aborted.trouble) tell(sender, "no answer in time");
    return { pending: await pendingSpans(sender.deps.store), trouble };
  }
}

type Round = { readonly claimed: number; readonly trouble: string | null };
const aborted: Round = { claimed: 0, trouble: "aborted" };

/** The round before may still wait for the receiver: whoever flushes does not wait with it. */
async function orAborted(round: Promise<Round>, signal: AbortSignal): Promise<Round> {
  const { promise, resolve } = Promise.withResolvers<Round>();
  const onAbort = (): void => resolve(aborted);
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([round, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function nextRound(sender: Sender, signal: AbortSignal): Promise<Round> {
  const round = sender.turn.then(() => sendRound(sender, signal));
  sender.turn = round.catch(() => undefined);
  return round;
}

/** One transaction: the claim holds until what became of it is marked. */
async function sendRound(sender: Sender, signal: AbortSignal): Promise<Round> {
  if (signal.aborted) return aborted;
  const round = await sender.deps.store
    .transaction((tx) => sendClaimed(sender, tx, signal))
    // A trace that can't be sent is no reason to end what it is about.
    .catch((error: unknown) => ({ claimed: 0, trouble: isCountersignError(error) ? error.code : `fault: ${error}` }));
  if (round.trouble === null) sender.isToldOf &&= round.claimed === 0;
  else if (round.trouble !== aborted.trouble) tell(sender, round.trouble);
  return round;
}

/** Once, until spans are taken again. */
function tell(sender: Sender, trouble: string): void {
  if (sender.isToldOf) return;
  sender.isToldOf = true;
  const { host } = new URL(sender.settings.url);
  sender.deps.notice(`the trace receiver at ${host} did not take the spans (${trouble}); they are kept and sent later`);
}

type Tally = { readonly sent: number[]; readonly refused: ClaimedSpan[]; trouble: string | null };

async function sendClaimed(sender: Sender, tx: Transaction, signal: AbortSignal): Promise<Round> {
  const { deps, settings } = sender;
  const claimed = await claimSpans(tx, settings, deps.clock(), spansARequest);
  const tally: Tally = { sent: [], refused: [], trouble: null };
  // One that was refused before goes alone: it must not hold up the others again.
  const fresh = claimed.filter(({ refusals }) => refusals === 0);
  for (const group of [fresh, ...claimed.filter(({ refusals }) => refusals > 0).map((one) => [one])]) {
    await deliver(sender, group, tally, signal);
  }
  await markSent(tx, tally.sent, deps.clock());
  for (const one of tally.refused) {
    const state = await markRefused(tx, one, deps.clock() + pauseMs(one.refusals + 1));
    if (state === "rejected") {
      const { spanId, traceId } = one.outgoing.span;
      deps.notice(`the trace receiver refused span ${spanId} of trace ${traceId} for good: it counts as lost`);
    }
  }
  return { claimed: claimed.length, trouble: tally.trouble };
}

/** Sends a group; where it is refused, its halves, until the span that is not wanted stands alone. */
async function deliver(
  sender: Sender,
  group: readonly ClaimedSpan[],
  tally: Tally,
  signal: AbortSignal,
): Promise<void> {
  if (group.length === 0 || tally.trouble !== null) return;
  const { settings, deps } = sender;
  const spans = group.map(({ outgoing }) => redactedSpan(deps.redactor, outgoing));
  const verdict = await postSpans(settings, spans, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    return { kind: "unavailable", code: aborted.trouble ?? "" } as const;
  });
  if (verdict.kind === "taken") tally.sent.push(...group.map(({ id }) => id));
  else if (verdict.kind === "unavailable") tally.trouble = verdict.code;
  else if (group.length === 1) tally.refused.push(...group);
  else {
    const middle = Math.ceil(group.length / 2);
    await deliver(sender, group.slice(0, middle), tally, signal);
    await deliver(sender, group.slice(middle), tally, signal);
  }
}
