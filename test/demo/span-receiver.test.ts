import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type SpanReceiver, startSpanReceiver } from "../../src/demo/span-receiver.ts";

let receiver: SpanReceiver;
beforeEach(async () => {
  receiver = await startSpanReceiver();
});
afterEach(() => receiver[Symbol.asyncDispose]());

const spanOf = (spanId: string, parentSpanId?: string, traceId = "trace") => ({
  traceId,
  spanId,
  name: "x",
  ...(parentSpanId === undefined ? {} : { parentSpanId }),
});

async function send(...spans: readonly object[]): Promise<number> {
  const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
  return (await fetch(`${receiver.url}/v1/traces`, { method: "POST", body })).status;
}

describe("the receiver of spans", () => {
  it("counts each span of a trace once", async () => {
    await send(spanOf("a"), spanOf("b", "a"), spanOf("c", undefined, "another"));
    await send(spanOf("b", "a"));

    expect(receiver.received("trace")).toEqual({ spanCount: 2, isWhole: true });
  });

  it("calls a trace whole when each parent is there, whatever the order", async () => {
    await send(spanOf("c", "b"), spanOf("b", "a"));
    const before = receiver.received("trace");
    const whole = receiver.untilWhole("trace", new AbortController().signal);
    await send(spanOf("a"));
    await whole;

    expect(before).toEqual({ spanCount: 2, isWhole: false });
    expect(receiver.received("trace")).toEqual({ spanCount: 3, isWhole: true });
  });

  it("waits for a missing parent no longer than it is told", async () => {
    await send(spanOf("b", "a"));
    const stop = new AbortController();

    const waited = receiver.untilWhole("trace", stop.signal);
    stop.abort();
    await waited;

    expect(receiver.received("trace").isWhole).toBe(false);
    expect(receiver.received("never")).toEqual({ spanCount: 0, isWhole: false });
  });

  it("refuses what is no OTLP", async () => {
    const posted = await fetch(`${receiver.url}/v1/traces`, { method: "POST", body: "{}" });

    expect(posted.status).toBe(400);
  });
});
