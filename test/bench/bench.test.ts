import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BenchReport, rowNames, runBench } from "../../src/bench/index.ts";
import { isCountersignError } from "../../src/domain/index.ts";

const root = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "countersign-bench-"));
chmodSync(folder, 0o711);
const home = join(folder, "home");

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const tables: string[] = [];

function measure(only: string | null): Promise<BenchReport> {
  const deps = { clock: () => Date.now(), randomBytes, notice: () => undefined, progress: () => undefined };
  const settings = {
    home,
    policiesFolder: join(root, "policies", "standard"),
    runUids: "64340-64359",
    program: join(root, "bin", "countersign.mjs"),
  };
  const show = (table: string): void => void tables.push(table);
  return runBench(deps, settings, { only, size: "short", show }, new AbortController().signal);
}

type FigureJson = { name: string; unit: string; median: number; min: number; max: number; samples: number };
type RowJson = { name: string; figures: readonly FigureJson[] };

/** Times are looked at for being there, never for being short. */
describe("the measurements, in their shortest size", () => {
  let report: BenchReport;
  let rows: readonly RowJson[];

  beforeAll(async () => {
    report = await measure(null);
    ({ rows } = report.json as unknown as { rows: readonly RowJson[] });
  }, 600_000);

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
  ])("set `%s` beside a floor of the same run", (name) => {
    const row = rows.find((one) => one.name === name);

    expect(row?.figures.map(({ unit }) => unit)).toContain("x");
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
