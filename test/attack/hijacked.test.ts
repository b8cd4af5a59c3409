import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { aBase, aHome, aWorkspace, checkoutKinds, never, shell, type TestHome } from "../support/checkout.ts";
import { type AttackRoom, openAttackRoom } from "./in-sandbox.ts";

/** What was found when the sandbox was attacked as a hijacked model would, each as a kind. */
let home: TestHome;
let room: AttackRoom;

beforeAll(async () => {
  home = aHome();
  room = await openAttackRoom(home);
});

afterAll(async () => {
  await room[Symbol.asyncDispose]();
  home.dispose();
});

describe("a command that stops its own supervisor (SEC-57)", () => {
  it("can't make the host's list of what it left running grow without end", async () => {
    const rounds = 4;
    const stop = "kill -STOP 2; while grep -q '^State:.T' /proc/2/status; do sleep 0.02; done";
    const script = [
      "cp /usr/bin/sleep /tmp/left",
      "for n in $(seq 130); do /tmp/left 60 & done",
      ...Array.from({ length: rounds }, () => stop),
    ].join("\n");

    const result = await room.workspace.exec({ program: { kind: "shell", script }, timeoutMs: 60_000 }, never);

    expect(result).toMatchObject({ exitCode: 0, timedOut: false });
    const named = result.killed.filter((name) => name === "left");
    expect(named.length).toBeGreaterThan(0);
    expect(result.killed).toEqual([...named, expect.stringMatching(/^… and \d+ more$/)]);
    expect(named.length).toBeLessThanOrEqual(20);
  });
});

describe.each(checkoutKinds)(
  "deletion marks of overlays, made by a command in a checkout of the kind `%s` (SEC-88)",
  (checkout) => {
    it("can't be made, or refuse the tree: they delete nothing", async () => {
      const base = await aBase(home, { "a.txt": "a\n" });
      await using workspace = await aWorkspace(home, base, { checkout });

      const isMade = (await shell(workspace, "rm a.txt && mknod a.txt c 0 0")).exitCode === 0;
      const read = await workspace.readBack();

      expect([isMade, read.kind]).toEqual(checkout === "overlay" ? [false, "read"] : [true, "refused"]);
    });
  },
);

describe("a command that opens files without end, where the host has to look at each (SEC-56)", () => {
  it("is ended before the looking takes the service's time", async () => {
    const base = await aBase(home, { "a.txt": "a\n" });
    await using workspace = await aWorkspace(home, base, { checkout: "copy" });
    const open = "for n in {1..4000}; do exec {file}</dev/null; done; sleep 60";
    const script = `for n in {1..14}; do { ${open}; } & done; wait`;

    const result = await workspace.exec({ program: { kind: "shell", script }, timeoutMs: 50_000 }, never);

    expect(result).toMatchObject({ timedOut: false, limit: { kind: "work_bytes" } });
  });
});
