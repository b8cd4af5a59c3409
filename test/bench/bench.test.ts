import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BenchReport, rowNames, runBench } from "../../src/bench/index.ts";
import { createRedactor, isCountersignError } from "../../src/domain/index.ts";

const root = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "countersign-bench-"));
chmodSync(folder, 0o711);
const home = join(folder, "home");

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const tables: string[] = [];

function measure(only: string | null): Promise<BenchReport> {
  const redactor = createRedactor([]);
  const deps = { clock: () => Date.now(), randomBytes, notice: () => undefined, progress: () => undefined, redactor };
  const settings = {
    home,
    policiesFolder: join(root, "policies", "standard"),
    runUids: "64340-64359",
    program: join(root, "bin", "countersign.mjs"),
  };
  const show = (table: string): void => void tables.push(table);
  return runBench(deps, settings, { only, size: "short", show }, new AbortController().signal);
}

type GoalJson = { kind: "at_most" | "at_least" | "equal"; value: number };
type FigureJson = {
  name: string;
  unit: string;
  median: number;
  min: number;
  max: number;
  samples: number;
  goal: GoalJson | null;
  met: boolean | null;
};
type RowJson = { name: string; figures: readonly FigureJson[] };

/** Times are looked at for being there, never for being short. */
describe("the measurements, in their shortest size", () => {
  let report: BenchReport;
  let rows: readonly RowJson[];

  beforeAll(async () => {
    report = await measure(null);
    ({ rows } = report.json as unknown as { rows: readonly RowJson[] });
  }, 900_000);

  it("give every row, each with its table", () => {
    expect(rows.map(({ name }) => name)).toEqual(rowNames);
    expect(tables.map((table) => table.split(":")[0])).toEqual(rowNames);
  });

  it("give every figure a number with its spread", () => {
    for (const { name, figures } of rows) {
      expect(figures.length, name).toBeGreaterThan(0);
      for (const one of figures) {
        expect(Number.isFinite(one.median), `${name}: ${one.name}`).toBe(true);
        expect(one.min, `${name}: ${one.name}`).toBeLessThanOrEqual(one.median);
        expect(one.max, `${name}: ${one.name}`).toBeGreaterThanOrEqual(one.median);
        expect(one.samples, `${name}: ${one.name}`).toBeGreaterThan(0);
      }
    }
  });

  it.each([
    "loop",
    "steps",
    "merkle",
    "append",
    "perform",
    "decision",
    "bookkeeping",
    "verify",
    "sandbox",
    "output",
    "checkout",
    "intake",
  ])("set `%s` beside a floor of the same run", (name) => {
    const row = rows.find((one) => one.name === name);

    expect(row?.figures.map(({ unit }) => unit)).toContain("x");
  });

  const figuresOf = (row: string): readonly FigureJson[] => rows.find(({ name }) => name === row)?.figures ?? [];

  it("say of each figure with a goal whether it is met, whichever way the goal goes", () => {
    const isMet = (median: number, { kind, value }: GoalJson): boolean =>
      ({ at_most: median <= value, at_least: median >= value, equal: median === value })[kind];
    const figures = rows.flatMap((row) => row.figures);

    expect(new Set(figures.flatMap(({ goal }) => goal?.kind ?? []))).toEqual(new Set(["at_most", "at_least", "equal"]));
    for (const { name, median, goal, met } of figures) {
      expect(met, name).toBe(goal === null ? null : isMet(median, goal));
    }
  });

  it("count what a killed intake had answered with 202 and lost: nothing", () => {
    const byName = new Map(figuresOf("intake").map(({ name, median }) => [name, median]));

    expect(byName.get("answered with 202 before the kill")).toBeGreaterThan(0);
    expect(byName.get("lost of them")).toBe(0);
  });

  it("list the GitHub calls of a run by route, each call once", () => {
    const calls = figuresOf("webhook").filter(({ unit }) => unit === "calls");
    const routes = calls.filter(({ name }) => name.startsWith("  "));
    const [total] = calls;

    expect(routes.map(({ name }) => name.trim())).toContain("POST /repos/{owner}/{repo}/pulls");
    expect(routes.reduce((sum, { median }) => sum + median, 0)).toBe(total?.median);
  });

  it("give the first signs of life in the order in which they are sent", () => {
    const times = new Map(figuresOf("webhook").map(({ name, median }) => [name, median]));

    expect(times.get("to the status comment")).toBeGreaterThanOrEqual(times.get("to the reaction") ?? Number.NaN);
  });

  it("split the demonstration's time into parts that make up the whole", () => {
    const [whole, ...parts] = figuresOf("demo");

    expect(parts.map(({ name }) => name.trim())).toEqual(expect.arrayContaining(["start", "work", "publish"]));
    expect(parts.reduce((sum, { median }) => sum + median, 0)).toBeCloseTo(whole?.median ?? Number.NaN);
  });

  it("count the lines that a rename costs in each form of edit", () => {
    const edits = rows.find(({ name }) => name === "edits");

    expect(edits?.figures.map(({ median }) => median)).toEqual([120, 17, 8, 1]);
  });

  it("hold what has no time in it: the prompt's size and its stable prefix", () => {
    expect(report.ok).toBe(true);
  });

  it("leave nothing behind", () => {
    expect(existsSync(join(home, "bench"))).toBe(false);
    expect(readdirSync(join(home, "processes"))).toEqual([]);
  });
});

it("names the rows there are where an unknown one is asked for", async () => {
  const refused = await measure("speed").catch((error: unknown) => error);

  expect(isCountersignError(refused, "USAGE") && refused.remedy).toContain("loop");
});
