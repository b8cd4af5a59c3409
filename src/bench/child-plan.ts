import { readFileSync } from "node:fs";

/** What this process was told by the one that started it. */
export const readPlan = <Plan>(): Plan => JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as Plan;

/** Says something to the process that started this one. */
export const say = (message: object): void => void process.send?.(message);

/** Aborted when the process that started this one lets go of it, or is gone. */
export function letGo(): AbortSignal {
  const stop = new AbortController();
  process.once("disconnect", () => stop.abort());
  return stop.signal;
}
