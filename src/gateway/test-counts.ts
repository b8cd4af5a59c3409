import { decodedLines } from "./clean-output.ts";

/** What a test runner said about its tests. Best effort: it informs the model, it is no verdict (ACI-29). */
export type TestCounts = {
  readonly runner: string;
  readonly passedCount: number;
  readonly failedCount: number;
  readonly skippedCount: number;
  readonly failing: readonly string[];
};

type Kind = "passed" | "failed" | "skipped";

/** How one runner words its sums and its failing tests. Several sums (one for each package) are added. */
type Runner = {
  readonly name: string;
  /** A line that has sums, with each count beside its word. */
  readonly summary: RegExp;
  readonly counts: Readonly<Record<Kind, RegExp>>;
  /** The first group is the failing test's name. */
  readonly failing: RegExp;
};

const number = (word: string): RegExp => new RegExp(`(\\d+) (?:${word})\\b`);
const assigned = (word: string): RegExp => new RegExp(`(?:${word})=(\\d+)`);

const runners: readonly Runner[] = [
  {
    name: "node",
    summary: /^(?:ℹ|#) (?:pass|fail|skipped) \d+$/,
    counts: { passed: /pass (\d+)/, failed: /fail (\d+)/, skipped: /skipped (\d+)/ },
    failing: /^\s*(?:✖|not ok \d+ -) (.+?)(?: \([\d.]+ms\))?$/,
  },
  {
    name: "jest",
    summary: /^Tests: .*\d+ total/,
    counts: { passed: number("passed"), failed: number("failed"), skipped: number("skipped|todo") },
    failing: /^\s*● (.+)$/,
  },
  {
    name: "vitest",
    summary: /^\s*Tests\s+.*\(\d+\)$/,
    counts: { passed: number("passed"), failed: number("failed"), skipped: number("skipped|todo") },
    failing: /^\s*FAIL\s+(.+)$/,
  },
  {
    name: "pytest",
    summary: /^=*\s*(?:\d+ (?:passed|failed|skipped|errors?|xfailed|xpassed|warnings?|deselected)(?:, )?)+ in [\d.]+s/,
    counts: { passed: number("passed"), failed: number("failed|errors?"), skipped: number("skipped") },
    failing: /^(?:FAILED|ERROR) (\S+)/,
  },
  {
    name: "cargo",
    summary: /^test result: /,
    counts: { passed: number("passed"), failed: number("failed"), skipped: number("ignored") },
    failing: /^test (\S+) \.\.\. FAILED$/,
  },
];

export function readTestCounts(cleaned: Uint8Array): TestCounts | null {
  const lines = [...keptLines(cleaned)];
  for (const runner of runners) {
    if (lines.some((line) => runner.summary.test(line))) return countSums(runner, lines);
  }
  return countUnittest(lines) ?? countEach("go", lines, goForms) ?? countEach("tap", lines, tapForms);
}

const judgedCharacters = 500;
/** Runners tell their sums at the end. */
const judgedBytes = 2 * 1024 * 1024;
const maxFailing = 50;

/** Lines that could matter: a summary or a test's result is never long. */
function* keptLines(cleaned: Uint8Array): Generator<string> {
  for (const line of decodedLines(cleaned.subarray(-judgedBytes))) {
    if (line.length > 0 && line.length <= judgedCharacters && mayMatter.test(line)) yield line;
  }
}

const mayMatter = /fail|error|pass|skip|✖|●|ok\b|total|result|Ran \d|\bTests\b/i;

function countSums(runner: Runner, lines: readonly string[]): TestCounts {
  const sums: Record<Kind, number> = { passed: 0, failed: 0, skipped: 0 };
  for (const line of lines.filter((candidate) => runner.summary.test(candidate))) {
    for (const kind of ["passed", "failed", "skipped"] as const)
      sums[kind] += Number(runner.counts[kind].exec(line)?.[1] ?? 0);
  }
  return toCounts(runner.name, sums, namesIn(lines, runner.failing));
}

const toCounts = (runner: string, sums: Readonly<Record<Kind, number>>, failing: readonly string[]): TestCounts => ({
  runner,
  passedCount: sums.passed,
  failedCount: sums.failed,
  skippedCount: sums.skipped,
  failing,
});

function namesIn(lines: readonly string[], form: RegExp): readonly string[] {
  const names = lines.flatMap((line) => form.exec(line)?.[1] ?? []).filter((found) => found !== "failing tests:");
  return [...new Set(names)].slice(0, maxFailing);
}

/** Python's unittest: the number run, then what of it did not pass. */
function countUnittest(lines: readonly string[]): TestCounts | null {
  let ranCount = 0;
  const sums: Record<Kind, number> = { passed: 0, failed: 0, skipped: 0 };
  for (const line of lines) {
    ranCount += Number(/^Ran (\d+) tests? in /.exec(line)?.[1] ?? 0);
    if (!/^(?:OK|FAILED) \(/.test(line)) continue;
    for (const word of ["failures", "errors", "unexpected successes"])
      sums.failed += Number(assigned(word).exec(line)?.[1] ?? 0);
    sums.skipped += Number(assigned("skipped").exec(line)?.[1] ?? 0);
  }
  if (!lines.some((line) => line.startsWith("Ran "))) return null;
  sums.passed = Math.max(0, ranCount - sums.failed - sums.skipped);
  return toCounts("unittest", sums, namesIn(lines, /^(?:FAIL|ERROR): (.+)$/));
}

const goForms: Readonly<Record<Kind, RegExp>> = {
  passed: /^\s*--- PASS: (\S+)/,
  failed: /^\s*--- FAIL: (\S+)/,
  skipped: /^\s*--- SKIP: (\S+)/,
};
const tapForms: Readonly<Record<Kind, RegExp>> = {
  passed: /^ok \d+(?!.*# SKIP)\s*-?\s*(.*)$/,
  failed: /^not ok \d+\s*-?\s*(.*)$/,
  skipped: /^ok \d+\s*-?\s*(.*# SKIP.*)$/,
};

/** Runners without a sum: each result line counts. */
function countEach(runner: string, lines: readonly string[], forms: Readonly<Record<Kind, RegExp>>): TestCounts | null {
  const count = (kind: Kind): number => lines.filter((line) => forms[kind].test(line)).length;
  const sums = { passed: count("passed"), failed: count("failed"), skipped: count("skipped") };
  if (sums.passed + sums.failed + sums.skipped === 0) return null;
  return toCounts(runner, sums, namesIn(lines, forms.failed));
}
