import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseRunUids, sandboxesAtOnce } from "../../src/workspace/index.ts";
import { takeRunUid } from "../../src/workspace/run-uids.ts";
import { aHome, never, type TestHome } from "../support/checkout.ts";

const asRoot = process.geteuid?.() === 0;
const alone = { isShared: false };
let home: TestHome;

beforeEach(() => {
  home = aHome();
});

afterEach(() => home.dispose());

describe("parseRunUids", () => {
  it("reads one id or a range", () => {
    expect(parseRunUids("64200")).toEqual({ first: 64_200, last: 64_200 });
    expect(parseRunUids("64200-64299")).toEqual({ first: 64_200, last: 64_299 });
  });

  it("refuses root, nobody and what is no range", () => {
    for (const text of ["", "0", "0-5", "x", "5-", "-5", "9-5", "65534", "60000-70000", "4294967295", "1,2", "1.5"]) {
      expect(() => parseRunUids(text), text).toThrow(expect.objectContaining({ code: "RUN_UID_UNUSABLE" }));
    }
  });
});

describe("how many sandboxes run at once (SEC-42)", () => {
  it("is any number where a group counts the tasks of each, else one for each user id, and one for an ordinary user", () => {
    for (const name of ["cgroup_v1", "cgroup_v2"] as const) {
      expect(sandboxesAtOnce("64299", { name })).toBe(Number.POSITIVE_INFINITY);
    }
    const [one, four] = ["64299", "64296-64299"].map((ids) => sandboxesAtOnce(ids, { name: "prlimit" }));
    expect([one, four]).toEqual([1, asRoot ? 4 : 1]);
  });
});

describe.runIf(asRoot)("takeRunUid of a service started by root", () => {
  it("gives each run its own id, and again once it is released", async () => {
    const first = await takeRunUid(home.deps, "64350-64351", alone, never);
    const second = await takeRunUid(home.deps, "64350-64351", alone, never);

    expect([first.owner, second.owner]).toEqual([
      { uid: 64_350, gid: 64_350 },
      { uid: 64_351, gid: 64_351 },
    ]);
    await expect(takeRunUid(home.deps, "64350-64351", alone, never)).rejects.toMatchObject({
      code: "RUN_UID_UNUSABLE",
    });
    await first.release();
    expect((await takeRunUid(home.deps, "64350-64351", alone, never)).owner?.uid).toBe(64_350);
  });

  it("gives the preferred ones of the range first, and never one outside it", async () => {
    const preferred = new Set([64_349, 64_347, 64_346]);
    const take = () => takeRunUid(home.deps, "64346-64348", { isShared: false, preferred }, never);
    const taken = [await take(), await take(), await take()];

    expect(taken.map(({ owner }) => owner?.uid)).toEqual([64_347, 64_346, 64_348]);
  });

  it("gives each run its own id where a group counts the tasks, too, and the first again where there are no more", async () => {
    const take = () => takeRunUid(home.deps, "64352-64353", { isShared: true }, never);
    const taken = [await take(), await take(), await take(), await take()];

    expect(taken.map(({ owner }) => owner?.uid)).toEqual([64_352, 64_353, 64_352, 64_352]);
    await taken[2]?.release();
    await taken[1]?.release();
    expect((await take()).owner?.uid).toBe(64_353);
  });

  it("gives no id twice to services that share a home", async () => {
    const source = JSON.stringify(new URL("../../src/workspace/run-uids.ts", import.meta.url).href);
    const script = `const { takeRunUid } = await import(${source});
const { randomBytes } = await import("node:crypto");
const deps = { home: process.argv[1], searchPath: "/usr/bin", randomBytes, registerProcess: () => () => {} };
console.log((await takeRunUid(deps, "64354-64359", { isShared: true }, new AbortController().signal)).owner.uid);
process.stdin.on("data", () => process.exit());`;
    const others = [1, 2].map(() =>
      spawn(process.execPath, ["--input-type=module", "-e", script, home.deps.home], {
        stdio: ["pipe", "pipe", "inherit"],
      }),
    );
    const told = await Promise.all(others.map(async ({ stdout }) => Number((await once(stdout, "data"))[0])));
    const own = await takeRunUid(home.deps, "64354-64359", { isShared: true }, never);

    expect(new Set([...told, own.owner?.uid])).toEqual(new Set([64_354, 64_355, 64_356]));
    for (const other of others) other.stdin.write("end");
  });

  it("gives no id twice to runs that ask at once", async () => {
    const taken = await Promise.allSettled(
      Array.from({ length: 5 }, () => takeRunUid(home.deps, "64350-64389", alone, never)),
    );

    const uids = taken.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value.owner?.uid] : []));
    expect(uids).toHaveLength(5);
    expect(new Set(uids).size).toBe(5);
  });

  it("refuses without a range, with a range that names an account, and passes over an id that owns a process", async () => {
    const account = /^(?!root)[^:]+:[^:]*:([1-9]\d*):/m.exec(readFileSync("/etc/passwd", "utf8"))?.[1] ?? "1";
    const owned = spawn("sleep", ["60"], { uid: 64_390, gid: 64_390, stdio: "ignore" });

    await expect(takeRunUid(home.deps, null, alone, never)).rejects.toMatchObject({ code: "RUN_UID_UNUSABLE" });
    await expect(takeRunUid(home.deps, account, alone, never)).rejects.toMatchObject({
      code: "RUN_UID_UNUSABLE",
      message: expect.stringContaining(account),
    });
    await expect(takeRunUid(home.deps, "64390", alone, never)).rejects.toMatchObject({ code: "RUN_UID_UNUSABLE" });
    expect((await takeRunUid(home.deps, "64390-64391", alone, never)).owner?.uid).toBe(64_391);
    owned.kill("SIGKILL");
  });
});

describe.skipIf(asRoot)("takeRunUid of an ordinary user", () => {
  it("uses the service's own id", async () => {
    expect((await takeRunUid(home.deps, null, alone, never)).owner).toBeNull();
  });
});
