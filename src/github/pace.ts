import type { GithubDeps } from "./github.ts";
import { untilAfter } from "./read.ts";

/** GitHub's limits for requests that make content, per installation (GH-112); counted in this process. */
const windows = [
  { count: 80, sizeMs: 60_000 },
  { count: 500, sizeMs: 3_600_000 },
] as const;
const longestMs = 3_600_000;
const waitsMost = 5;

export type Pace = {
  /** Returns when the next content-making request of the installation may be sent. */
  readonly take: (installationId: number, signal: AbortSignal) => Promise<void>;
  /** GitHub refused for a limit: nothing is sent until then. Null: it didn't say until when. */
  readonly hold: (installationId: number, until: number | null) => void;
  /** A request went through: the next limit is a first one. */
  readonly release: (installationId: number) => void;
};

/** `intervalMs` 0: no pace but what `hold` asks for. */
export function createPace(deps: Pick<GithubDeps, "clock" | "delay" | "onWaiting">, intervalMs: number): Pace {
  const sent = new Map<number, number[]>();
  const held = new Map<number, { readonly until: number; readonly count: number }>();

  function slotOf(installationId: number): number {
    const now = deps.clock();
    const times = (sent.get(installationId) ?? []).filter((time) => time > now - longestMs);
    const last = times.at(-1);
    const earliest = [
      now,
      held.get(installationId)?.until ?? 0,
      last === undefined ? 0 : last + intervalMs,
      ...(intervalMs === 0 ? [] : windows.map(({ count, sizeMs }) => (times.at(-count) ?? -sizeMs) + sizeMs)),
    ];
    const slot = Math.max(...earliest);
    sent.set(installationId, [...times, slot]);
    return slot;
  }

  return {
    take: async (installationId, signal) => {
      const heldUntil = (): number => held.get(installationId)?.until ?? 0;
      for (;;) {
        const slot = slotOf(installationId);
        const waitMs = slot - deps.clock();
        if (waitMs <= 0) return;
        if (heldUntil() === slot) deps.onWaiting?.(slot);
        await deps.delay(waitMs, signal);
        if (heldUntil() <= slot) return; // else a limit was met meanwhile, which holds for all who wait
      }
    },
    hold: (installationId, until) => {
      const count = held.get(installationId)?.count ?? 0;
      held.set(installationId, {
        until: until ?? untilAfter(deps.clock, Math.min(count, waitsMost - 1)),
        count: count + 1,
      });
    },
    release: (installationId) => {
      held.delete(installationId);
    },
  };
}
