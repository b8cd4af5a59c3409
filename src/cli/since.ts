import { CountersignError } from "../domain/index.ts";

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** What `--since` takes, for its help. */
export const sinceForms = "`2026-01-31`, `2026-01-31T09:00:00Z`, or so long ago: `90m`, `12h`, `7d`";

/** The time that `--since` means, in milliseconds. Throws `USAGE`. */
export function sinceMsOf(text: string, nowMs: number): number {
  const ago = /^(\d{1,6})([mhd])$/.exec(text);
  if (ago !== null) return nowMs - Number(ago[1]) * (unitMs[ago[2] ?? ""] ?? 0);
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/.test(text);
  const timeMs = isTime ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(timeMs)) return timeMs;
  const expected = "a day, a time with its zone, or so long ago such as `12h`";
  throw new CountersignError("USAGE", `--since: got \`${text}\`, expected ${expected}`);
}
