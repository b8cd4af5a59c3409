import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createRedactor, type NewEntry, Secret } from "../../../src/domain/index.ts";
import {
  type Ledger,
  lostSpans,
  type RunLease,
  type SpanSender,
  type SpanSenderSettings,
  startSpanSender,
} from "../../../src/ledger/index.ts";
import type { Store } from "../../../src/store/index.ts";
import {
  nested,
  type OtlpReceiver,
  resourceSpansIn,
  spansIn,
  startOtlpReceiver,
  taken,
  wireFields,
} from "../../support/otlp-receiver.ts";
import {
  anEntry,
  emptyLog,
  openTestLedger,
  recordAction,
  startOfTime,
  type TestLedger,
} from "../../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../../support/test-store.ts";

let store: TestStore;
let test: TestLedger;
let ledger: Ledger;
let lease: RunLease;
let receiver: OtlpReceiver;
let close: AsyncDisposableStack;

beforeAll(async () => {
  store = await openTestStore();
  test = await openTestLedger(store);
});
beforeEach(async () => {
  await emptyLog(store);
  test.now.ms = startOfTime;
  ledger = await test.open(store);
  lease = await test.newRun();
  close = new AsyncDisposableStack();
  receiver = close.use(await startOtlpReceiver());
});
afterEach(() => close.disposeAsync());
afterAll(async () => {
  await test[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const never = new AbortController().signal;
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });

/** A sender that waits for ever between rounds: what it sends it sends in `flush`, or in its first round. */
function start(settings: Partial<SpanSenderSettings> = {}, delay = untilPaused, where: Store = store) {
  const notices: string[] = [];
  const notice = (line: string): void => void notices.push(line);
  const deps = { store: where, clock: () => test.now.ms, delay, notice, redactor: createRedactor([]) };
  const sender: SpanSender = startSpanSender(deps, {
    url: `${receiver.url}/v1/traces`,
    protocol: "http/json",
    headers: [],
    timeoutMs: 60_000,
    resource: { "service.name": "countersign" },
    publicUrl: null,
    ...settings,
  });
  close.use(sender);
  return { sender, notices };
}
const untilPaused = (_: number, signal: AbortSignal): Promise<void> => untilAborted(signal);

const turn = (): NewEntry => anEntry(lease.runId, { evidence: { answered: true, requestModel: "some-model" } });
/** Entries that owe one span each. */
async function addSpans(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 100) {
    const entries = Array.from({ length: Math.min(left, 100) }, turn);
    await ledger.append(lease, { entries, sealed: [] });
  }
}
const idsSent = (): readonly string[] =>
  receiver.requests.flatMap((request) => spansIn(request).map(({ spanId }) => spanId));
const idsStored = async (): Promise<readonly string[]> =>
  (await store.db.selectFrom("span_outbox").select("span_id").orderBy("id").execute()).map(({ span_id }) => span_id);
const rejectedOf = (count: number) => ({ status: 200, body: { partialSuccess: { rejectedSpans: String(count) } } });

describe("a receiver that is well", () => {
  it("gets each span once, whole, with the resource of its run", async () => {
    await recordAction(ledger, lease);
    const { sender, notices } = start();

    const flushed = await sender.flush(never);

    expect(flushed).toEqual({ pending: 0, trouble: null });
    expect([...idsSent()].sort()).toEqual([...(await idsStored())].sort());
    const [request] = receiver.requests;
    const [resource] = request ? resourceSpansIn(request) : [];
    expect(request?.headers["content-type"]).toBe("application/json");
    expect(resource?.resource.attributes).toEqual(
      expect.arrayContaining([
        { key: "service.name", value: { stringValue: "countersign" } },
        { key: "cicd.pipeline.run.id", value: { stringValue: lease.runId } },
      ]),
    );
    const spans = request ? spansIn(request) : [];
    const action = spans.find(({ name }) => name === "countersign.action read_file");
    expect(action).toMatchObject({ kind: 1, traceId: test.keys.traceId(lease.runId), status: { code: 0 } });
    expect(action?.attributes).toContainEqual({
      key: "countersign.arguments.digest",
      value: { stringValue: "hmac-sha256:00" },
    });
    expect(spans.filter(({ parentSpanId }) => parentSpanId === action?.spanId)).toHaveLength(spans.length - 1);
    expect(notices).toEqual([]);
    expect(await lostSpans(store.db)).toMatchObject({ lost: 0, sent: spans.length });
  });

  it("sees every span as sampled and none with the random flag (AUD-71)", async () => {
    await addSpans(3);
    await start().sender.flush(never);

    expect(receiver.requests.flatMap(spansIn).map(({ flags }) => flags & 0xff)).toEqual([1, 1, 1]);
  });

  it("gets protobuf by default with the same ids and names, as read by hand from the wire", async () => {
    await recordAction(ledger, lease);
    await start({ protocol: "http/protobuf" }).sender.flush(never);

    const body = receiver.requests[0]?.body ?? Buffer.alloc(0);
    const spans = nested(body, 1).flatMap((one) => nested(one, 2).flatMap((scope) => nested(scope, 2)));
    const hex = (bytes: Buffer, field: number): string => nested(bytes, field)[0]?.toString("hex") ?? "";
    expect(receiver.requests[0]?.headers["content-type"]).toBe("application/x-protobuf");
    expect(spans.map((span) => hex(span, 2)).sort()).toEqual([...(await idsStored())].sort());
    expect(new Set(spans.map((span) => hex(span, 1)))).toEqual(new Set([test.keys.traceId(lease.runId)]));
    expect(spans.map((span) => nested(span, 5)[0]?.toString())).toContain("countersign.action read_file");
    const starts = spans.map((span) => nested(span, 7)[0]?.readBigUInt64LE());
    expect(new Set(starts)).toEqual(new Set([BigInt(startOfTime) * 1_000_000n]));
    expect(wireFields(body).length).toBeGreaterThan(0);
  });

  it("gets the configured headers, and the address of the run's page only where there are pages", async () => {
    await addSpans(1);
    const publicUrl = "https://countersign.example/";
    await start({ headers: [["x-api-key", new Secret("s3cret")]], publicUrl }).sender.flush(never);

    const [request] = receiver.requests;
    expect(request?.headers["x-api-key"]).toBe("s3cret");
    expect(request && resourceSpansIn(request)[0]?.resource.attributes).toContainEqual({
      key: "cicd.pipeline.run.url.full",
      value: { stringValue: `https://countersign.example/runs/${lease.runId}` },
    });
  });

  it("gets nothing of what the entries are about, in no byte (AUD-76)", async () => {
    const words = {
      raw: '{"path":"planted/raw.txt"}',
      canonical: '{"path":"planted/typed.txt"}',
      result: "planted result",
    };
    for (const end of ["succeeded", "denied", "invalid", "failed_definite"] as const) {
      await recordAction(ledger, lease, end, words);
    }
    await start().sender.flush(never);
    await store.sql("update span_outbox set state = 'pending', sent_at = null");
    await start({ protocol: "http/protobuf" }).sender.flush(never);

    expect(receiver.requests.length).toBeGreaterThan(1);
    for (const { body } of receiver.requests) expect(body.toString("latin1")).not.toMatch(/planted/);
  });

  it("gets each span once from two senders at once", async () => {
    await addSpans(950);
    const other = await openTestStore({ database: store.database });
    close.use(other);
    const senders = [start(), start({}, untilPaused, other)];

    await Promise.all(senders.map(({ sender }) => sender.flush(never)));
    await Promise.all(senders.map(({ sender }) => sender.flush(never)));

    const sent = idsSent();
    expect(new Set(sent).size).toBe(950);
    expect(sent).toHaveLength(950);
  });
});

describe("a receiver that fails", () => {
  it.each([
    ["500", () => ({ status: 500 })],
    ["429", () => ({ status: 429 })],
    ["401", () => ({ status: 401 })],
    ["302", () => ({ status: 302, headers: { location: "/elsewhere" } })],
    ["a page instead of an answer", () => ({ status: 200, body: "<html>", headers: { "content-type": "text/html" } })],
    ["a reset", () => "reset" as const],
  ])("with %s keeps the spans here, says so once, and gets them when it is well", async (_, answer) => {
    await addSpans(5);
    receiver.answer(answer);
    const { sender, notices } = start();

    const failed = await sender.flush(never);
    const again = await sender.flush(never);
    receiver.answer(() => taken);
    const mended = await sender.flush(never);

    expect([failed.pending, again.pending]).toEqual([5, 5]);
    expect(failed.trouble).not.toBeNull();
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatch(/^the trace receiver at 127\.0\.0\.1:\d+ did not take the spans \(\w+\); they are kept/);
    expect(mended).toEqual({ pending: 0, trouble: null });
    expect(await lostSpans(store.db)).toMatchObject({ sent: 5, lost: 0 });
    expect((await store.sql("select max(refusals) as most from span_outbox"))[0]).toEqual({ most: 0 });
  });

  it("that hangs is given up after the time for one request", async () => {
    await addSpans(1);
    receiver.answer(() => "hang");

    const flushed = await start({ timeoutMs: 50 }).sender.flush(never);

    expect(flushed).toEqual({ pending: 1, trouble: "timeout" });
  });

  it("that hangs holds up neither a flush past its signal nor the end", async () => {
    await addSpans(1);
    receiver.answer(() => "hang");
    const { sender, notices } = start();

    const flushed = await sender.flush(AbortSignal.timeout(50));
    await sender[Symbol.asyncDispose]();

    expect(flushed).toEqual({ pending: 1, trouble: "aborted" });
    expect(notices).toHaveLength(1);
  });

  it("is asked again after rising pauses", async () => {
    await addSpans(1);
    receiver.answer(() => ({ status: 503 }));
    const pauses: number[] = [];
    const { promise: enough, resolve } = Promise.withResolvers<void>();
    start({}, (waitMs, signal) => {
      pauses.push(waitMs);
      if (pauses.length < 8) return Promise.resolve();
      resolve();
      return untilAborted(signal);
    });
    await enough;

    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  });

  it("is refused connection: the spans stay", async () => {
    await addSpans(1);
    await receiver[Symbol.asyncDispose]();

    const flushed = await start().sender.flush(never);
    receiver = close.use(await startOtlpReceiver());

    expect(flushed).toEqual({ pending: 1, trouble: "ECONNREFUSED" });
  });
});

describe("a span that the receiver does not want", () => {
  const refuses = (spanId: string, status: number) => {
    receiver.answer((request) => {
      if (!spansIn(request).some((span) => span.spanId === spanId)) return taken;
      return status === 200 ? rejectedOf(1) : { status };
    });
  };

  it.each([200, 400, 413])("stands alone in the end, and is given up after 5 refusals by %i", async (status) => {
    await addSpans(20);
    const unwanted = (await idsStored())[7] ?? "";
    refuses(unwanted, status);
    const { sender, notices } = start();

    const states: unknown[] = [];
    for (let round = 0; round < 6; round += 1) {
      await sender.flush(never);
      test.now.ms += 60_000;
      states.push(await store.sql("select state, refusals from span_outbox where span_id = $1", [unwanted]));
    }

    expect(states.flat()).toEqual([
      ...[1, 2, 3, 4].map((refusals) => ({ state: "pending", refusals })),
      { state: "rejected", refusals: 5 },
      { state: "rejected", refusals: 5 },
    ]);
    expect(await lostSpans(store.db)).toEqual({ owed: 20, pending: 0, sent: 19, rejected: 1, lost: 1 });
    expect(notices).toEqual([expect.stringContaining(`refused span ${unwanted}`)]);
  });

  it("waits before it is offered again, and holds up no other", async () => {
    await addSpans(4);
    refuses((await idsStored())[0] ?? "", 400);
    const { sender } = start();
    await sender.flush(never);
    await addSpans(4);
    const before = receiver.requests.length;

    const flushed = await sender.flush(never);

    expect(flushed).toEqual({ pending: 1, trouble: null });
    expect(receiver.requests.slice(before).map((request) => spansIn(request).length)).toEqual([4]);
  });
});

describe("a sender that is killed", () => {
  it("between the receiver's answer and its own mark sends the same ids and content again", async () => {
    await recordAction(ledger, lease);
    const other = await openTestStore({ database: store.database });
    close.use(other);
    const killed = await openTestStore({ database: store.database });
    close.use(killed);
    receiver.answer(async (_, count) => {
      // Its connection ends while the claim is open, as it does with the process.
      if (count === 1) {
        await other.sql(
          "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and state = 'idle in transaction'",
        );
      }
      return taken;
    });
    const first = start({}, untilPaused, killed);
    await first.sender.flush(never);
    await first.sender[Symbol.asyncDispose]();

    await start().sender.flush(never);

    expect(receiver.requests.length).toBeGreaterThanOrEqual(2);
    const bodies = new Set(receiver.requests.map(({ body }) => body.toString()));
    expect(bodies.size).toBe(1);
    expect(await lostSpans(store.db)).toMatchObject({ pending: 0, lost: 0 });
  });
});
