import type { Clock } from "../domain/index.ts";

/** Answers whether one more may pass now; one that may not counts for nothing. */
export type RateLimit = () => boolean;

/** A bucket that holds `burst` and is filled evenly with so many a minute. Nothing in it grows. */
export function createRateLimit(clock: Clock, { burst, perMinute }: { burst: number; perMinute: number }): RateLimit {
  let left = burst;
  let atMs = clock();
  return () => {
    const nowMs = clock();
    left = Math.min(burst, left + (Math.max(0, nowMs - atMs) * perMinute) / 60_000);
    atMs = nowMs;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}
