import { equal, type Figure, figure, type Size } from "../figure.ts";
import { type LostWrite, openLostWrites } from "../lost-writes.ts";
import type { Row } from "./row.ts";

const sizes: Readonly<Record<Size, number>> = { short: 1, bench: 20, soak: 200 };

/** `audit.md` §12: GitHub did it, the answer was lost, at every kind of write (C-1, AUD-64). */
export const lostAnswersRow: Row = {
  name: "lost-answers",
  title: "writes to a local GitHub that did them and whose answer was lost",
  measure: async (place, size, signal) => {
    await using writes = await openLostWrites(place, signal);
    const told: LostWrite[] = [];
    for (let round = 0; round < sizes[size]; round += 1) {
      signal.throwIfAborted();
      told.push(...(await place.progress.part(`lost-answers/${round}`, () => writes.tell(round))));
    }
    const count = (name: string, of: (write: LostWrite) => number): Figure =>
      figure(name, "calls", [told.reduce((sum, write) => sum + of(write), 0)], equal(0));
    return [
      figure("answers lost", "calls", [told.length]),
      count("standing twice, or not at all", ({ duplicateCount }) => duplicateCount),
      count("sent a second time", ({ sentCount }) => Math.max(0, sentCount - 1)),
      count("not at rest, or not known as done", ({ isAtRest }) => (isAtRest ? 0 : 1)),
      figure(
        "until it was known that it is done",
        "ms",
        told.map(({ durationMs }) => durationMs),
      ),
    ];
  },
};
