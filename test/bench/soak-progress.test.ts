import { appendFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openProgress, soakFile } from "../../src/bench/soak-progress.ts";

let home: string;
const measured: string[] = [];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "countersign-soak-"));
  measured.length = 0;
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const measure =
  (name: string, value: unknown = name) =>
  (): Promise<unknown> => {
    measured.push(name);
    return Promise.resolve(value);
  };

it("goes on with a soak where it was stopped, and measures no part twice", async () => {
  const first = await openProgress(home, "soak");
  await first.part("a", measure("a", { rounds: [1, 2] }));
  await expect(first.part("b", () => Promise.reject(new Error("stopped")))).rejects.toThrow("stopped");
  appendFileSync(soakFile(home), '{"name":"b","val'); // killed as it wrote

  const again = await openProgress(home, "soak");
  const values = [await again.part("a", measure("a")), await again.part("b", measure("b"))];
  const third = await openProgress(home, "soak");
  values.push(await third.part("b", measure("b")));

  expect(values).toEqual([{ rounds: [1, 2] }, "b", "b"]);
  expect(measured).toEqual(["a", "b"]);
  expect([again.resumedParts, third.resumedParts]).toEqual([1, 2]);
});

it("begins anew once a soak has come to its end", async () => {
  const first = await openProgress(home, "soak");
  await first.part("a", measure("a"));
  await first.forget();
  const next = await openProgress(home, "soak");
  await next.part("a", measure("a"));

  expect(measured).toEqual(["a", "a"]);
});

it("keeps nothing of the smaller sizes", async () => {
  const progress = await openProgress(home, "bench");
  await progress.part("a", measure("a"));
  await progress.part("a", measure("a"));

  expect(measured).toEqual(["a", "a"]);
  expect(existsSync(soakFile(home))).toBe(false);
});
