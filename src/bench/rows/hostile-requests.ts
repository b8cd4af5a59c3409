import { equal, type Figure, figure, type Size } from "../figure.ts";
import { type Judged, judgeRequests } from "../hostile/judge.ts";
import type { Row } from "./row.ts";

const sizes: Readonly<Record<Size, number>> = { short: 200, bench: 10_000, soak: 100_000 };
const seed = 20_261_130;
/** In parts of so many, each of a seed of its own. */
const partSize = 10_000;

/** `audit.md` §12: half hostile and half honest, judged by a table that shares no code with gateway and policy. */
export const hostileRequestsRow: Row = {
  name: "hostile-requests",
  title: "generated requests, half of them hostile, against the design's own table",
  measure: async (place, size, signal) => {
    const { policies } = await place.runs();
    const parts: Judged[] = [];
    for (let from = 0; from < sizes[size]; from += partSize) {
      const asked = { count: Math.min(partSize, sizes[size] - from), seed: seed + from / partSize };
      const judge = (): Promise<Judged> => judgeRequests({ ...place.deps, policies }, asked, signal);
      parts.push(await place.progress.part(`hostile-requests/${asked.seed}`, judge));
    }
    const judged = joined(parts);
    for (const wrong of [...judged.wrongAllows, ...judged.wrongDenials].slice(0, 10)) place.deps.notice(wrong);
    const count = (name: string, value: number, goal: Figure["goal"] = null): Figure =>
      figure(name, "calls", [value], goal);
    return [
      count("requests", judged.count),
      ...Object.entries(judged.verdicts).map(([verdict, value]) => count(`found ${verdict}`, value)),
      count("questions answered", judged.answered),
      count("wrongly allowed", judged.wrongAllows.length, equal(0)),
      count("wrongly denied", judged.wrongDenials.length, equal(0)),
    ];
  },
};

function joined(parts: readonly Judged[]): Judged {
  const sum = (of: (part: Judged) => number): number => parts.reduce((total, part) => total + of(part), 0);
  const found = (verdict: keyof Judged["verdicts"]): number => sum(({ verdicts }) => verdicts[verdict]);
  return {
    count: sum(({ count }) => count),
    verdicts: { invalid: found("invalid"), denied: found("denied"), asked: found("asked"), allowed: found("allowed") },
    answered: sum(({ answered }) => answered),
    wrongAllows: parts.flatMap(({ wrongAllows }) => wrongAllows),
    wrongDenials: parts.flatMap(({ wrongDenials }) => wrongDenials),
  };
}
