import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchSilence } from "../../src/agent/silence-watch.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("aborts once nothing was heard for the given time, counted from the last sound", () => {
  using watch = watchSilence(100);

  vi.advanceTimersByTime(99);
  watch.touch();
  vi.advanceTimersByTime(99);
  const before = watch.signal.aborted;
  vi.advanceTimersByTime(1);

  expect(before).toBe(false);
  expect(watch.signal.aborted).toBe(true);
});

test("leaves no timer behind", () => {
  {
    using _watch = watchSilence(100);
    expect(vi.getTimerCount()).toBe(1);
  }

  expect(vi.getTimerCount()).toBe(0);
});
