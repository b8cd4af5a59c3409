import { equal, type Figure, figure, type Size } from "../figure.ts";
import { judgeRequests } from "../hostile/judge.ts";
import type { Row } from "./row.ts";

const sizes: Readonly<Record<Size, number>> = { short: 200, bench: 10_000, soak: 100_000 };
const seed = 20_261_130;

/** `audit.md` §12: half hostile and half honest, judged by a table that shares no code with gateway and policy. */
export const hostileRequestsRow: Row = {
  name: "hostile-requests",
  title: "generated requests, half of them hostile, against the design's own table",
  measure: async (place, size, signal) => {
    const { policies } = await place.runs();
    const judged = await judgeRequests({ ...place.deps, policies }, { count: sizes[size], seed }, signal);
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
