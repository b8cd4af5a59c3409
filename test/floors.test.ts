import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { cruise, type ICruiseResult } from "dependency-cruiser";
import { describe, expect, it } from "vitest";
import plan, { floors } from "../floors.config.ts";

const root = join(import.meta.dirname, "..");

async function cruiseTree(baseDir: string): Promise<ICruiseResult> {
  const answer = await cruise(["src", "test"], {
    ...plan.options,
    baseDir,
    validate: true,
    ruleSet: { forbidden: plan.forbidden },
  });
  if (typeof answer.output === "string") throw new Error("expected a cruise result, got text");
  return answer.output;
}

const rulesBroken = (result: ICruiseResult): string[] => [
  ...new Set(result.summary.violations.map((violation) => violation.rule.name)),
];

describe("the floors", () => {
  it("are kept: a room imports lower rooms only, through their doors", async () => {
    const result = await cruiseTree(root);

    expect(result.summary.violations.map(({ from, to, rule }) => `${rule.name}: ${from} -> ${to}`)).toEqual([]);
  });

  // INVARIANT: the check has read the code at all; under a compiler it can't load, the tool cruises nothing and passes.
  it("are checked in every room", async () => {
    const result = await cruiseTree(root);
    const rooms = (await readdir(join(root, "src"), { withFileTypes: true })).filter((entry) => entry.isDirectory());

    for (const { name } of rooms) {
      const cruised = result.modules.filter((module) => module.source.startsWith(`src/${name}/`));
      expect(cruised.length, `modules cruised in src/${name}`).toBeGreaterThan(0);
      expect(floors.flat(), `src/${name} has a floor`).toContain(name);
    }
  });

  it("name each rule that a broken tree breaks", async () => {
    const result = await cruiseTree(join(root, "test/fixtures/broken-floors"));

    expect(rulesBroken(result)).toEqual(
      expect.arrayContaining([
        "floor-domain",
        "floor-store",
        "floor-cli",
        "door-only",
        "settings",
        "nobody-imports-main",
        "local-github-apart",
        "processes",
        "no-cycle",
        "no-unresolved",
        "room-without-floor",
      ]),
    );
  });
});
