import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rawCall } from "../../src/workspace/index.ts";
import { aHome, type TestHome } from "../support/checkout.ts";
import { type AttackRoom, openAttackRoom } from "./in-sandbox.ts";
import { hostSetting } from "./on-host.ts";
import { askTerminal } from "./terminal-calls.ts";

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

const text = (characters: string): Uint8Array => Buffer.from(`${characters}\0`, "latin1");
const [EPERM, ENOSYS] = [-1, -38];

/** The controls of these stand in barriers.test.ts; those on the machine's own values have none. */
describe("the kernel, from inside (AT-25)", () => {
  it("makes no user namespace, by unshare, clone or clone3", async () => {
    const newUser = 0x1000_0000;
    const calls = [
      rawCall("unshare", newUser),
      rawCall("clone", newUser | 17, 0),
      rawCall("clone3", new Uint8Array(88), 88),
    ];

    expect((await room.calls(...calls)).results).toEqual([EPERM, EPERM, ENOSYS]);
    expect((await room.shell("unshare -U true")).exitCode).not.toBe(0);
  });

  it("mounts nothing, by the old call or the new ones", async () => {
    const calls = [
      rawCall("mount", text("none"), text("/tmp"), text("tmpfs"), 0, 0),
      rawCall("mount", text("none"), text("/"), text("none"), 32, 0), // MS_REMOUNT: writable again
      rawCall("umount2", text("/tmp"), 2),
      rawCall("fsopen", text("tmpfs"), 0),
      rawCall("open_tree", -100, text("/"), 1),
      rawCall("pivot_root", text("/tmp"), text("/tmp")),
    ];

    expect((await room.calls(...calls)).results).toEqual(calls.map(() => EPERM));
    expect((await room.shell("mount -t tmpfs none /tmp")).exitCode).not.toBe(0);
  });

  it("traces no process", async () => {
    const calls = [
      rawCall("ptrace", 0, 0, 0, 0),
      rawCall("ptrace", 16, 1, 0, 0),
      rawCall("process_vm_readv", 1, 0, 0, 0, 0, 0),
    ];

    expect((await room.calls(...calls)).results).toEqual([EPERM, EPERM, EPERM]);
  });

  it("pushes nothing into a terminal, not even one of its own", async () => {
    const { results } = await room.calls(...askTerminal("TIOCSTI"));

    expect(results?.slice(0, -1).every((result) => result >= 0)).toBe(true);
    expect(results?.at(-1)).toBe(EPERM);
  });

  it("lets core_pattern not be written, and it is what it was", async () => {
    const before = hostSetting("kernel/core_pattern");

    const { text: said } = await room.shell("echo countersign >/proc/sys/kernel/core_pattern && echo written");

    expect(said).toMatch(/Read-only file system|Permission denied/);
    expect(said).not.toContain("written");
    expect(hostSetting("kernel/core_pattern")).toBe(before);
  });
});
