import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { claim, tryClaim } from "../../src/workspace/claim.ts";
import { readProcess } from "../../src/workspace/process-tree.ts";
import { aHome, never, type TestHome } from "../support/checkout.ts";

let home: TestHome;

beforeEach(() => {
  home = aHome();
});

afterEach(() => home.dispose());

describe("a claim", () => {
  it("is held by one at a time and is free again when released", async () => {
    const first = await tryClaim(home.deps, "mirror-a");

    expect(await tryClaim(home.deps, "mirror-a")).toBeNull();
    expect(await tryClaim(home.deps, "mirror-ab")).not.toBeNull();
    await first?.release();
    expect(await tryClaim(home.deps, "mirror-a")).not.toBeNull();
  });

  it("is never held by two, however many come at once, and each gets its turn", async () => {
    let holders = 0;
    let most = 0;
    const turns = Array.from({ length: 6 }, async () => {
      const held = await claim(home.deps, "busy", 60_000, never);
      holders++;
      most = Math.max(most, holders);
      await new Promise((resolve) => setImmediate(resolve));
      holders--;
      await held.release();
    });

    await Promise.all(turns);

    expect(most).toBe(1);
    expect(readdirSync(join(home.deps.home, "locks"))).toEqual([]);
  });

  it("of a process that has ended is passed over, also where its number lives again", async () => {
    const locks = join(home.deps.home, "locks");
    mkdirSync(locks, { recursive: true });
    const otherStart = Number(readProcess(process.pid)?.startTime) + 1;
    writeFileSync(join(locks, "uid-5.999999999.1.aa"), "");
    writeFileSync(join(locks, `uid-5.${process.pid}.${otherStart}.bb`), "");

    expect(await tryClaim(home.deps, "uid-5")).not.toBeNull();
    expect(readdirSync(locks)).toHaveLength(1);
  });

  it("is given up with LOCK_HELD after the time to wait", async () => {
    await tryClaim(home.deps, "long");

    await expect(claim(home.deps, "long", 20, never)).rejects.toMatchObject({ code: "LOCK_HELD" });
  });
});
