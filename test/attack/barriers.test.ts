import { chmodSync, existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { rawCall, sandboxFlags } from "../../src/workspace/index.ts";
import { aHome, type TestHome } from "../support/checkout.ts";
import { type AttackRoom, endAmongOthers, openAttackRoom, type RoomOptions } from "./in-sandbox.ts";
import { callsOnHost, hostNamespace, hostProcess, hostSetting, listeners, sharedMemory } from "./on-host.ts";
import { askTerminal } from "./terminal-calls.ts";
import { together, type Weakness, weaknesses } from "./weak-bubblewrap.ts";

let home: TestHome;
let whole: AttackRoom;
/** The control of all that the filter alone keeps away. */
let withoutFilter: AttackRoom;

beforeAll(async () => {
  home = aHome();
  whole = await openAttackRoom(home);
  withoutFilter = await openAttackRoom(home, unfiltered);
});

afterAll(async () => {
  await withoutFilter[Symbol.asyncDispose]();
  await whole[Symbol.asyncDispose]();
  home.dispose();
});

/** Runs a probe in a sandbox that is whole, or lacks what a control takes away. */
async function inRoom<T>(options: RoomOptions, probe: (room: AttackRoom) => Promise<T>): Promise<T> {
  if (Object.keys(options).length === 0) return await probe(whole);
  if (options === unfiltered) return await probe(withoutFilter);
  await using room = await openAttackRoom(home, options);
  return await probe(room);
}

const text = (characters: string): Uint8Array => Buffer.from(`${characters}\0`, "latin1");
const EPERM = -1;
const newUser = 0x1000_0000;
const unfiltered: RoomOptions = { weakness: weaknesses["--seccomp"], without: ["seccomp"] };
/** bubblewrap drops all capabilities by itself: only this shows that a probe would see one. */
const withCapabilities: Weakness = {
  removed: [{ flag: "--cap-drop", operands: 1, instead: "--cap-add" }],
};

describe("the flags of the sandbox (SEC-133)", () => {
  /** SEC-133: no barriers, or what the two tables below are about as a whole. */
  const others =
    "--hostname --die-with-parent --new-session --setenv --symlink --dir --ro-bind-try --proc --dev --size --tmpfs --bind --chdir";

  it("are barriers that a test takes away, or named as none", () => {
    const layout = { generatedFolder: "/gen", toolsFolder: "/tools", toolchains: [], workFolder: "/work" };

    const flags = sandboxFlags({ ...layout, environment: {}, seccompDescriptor: 4 }, []);

    const used = new Set(flags.filter((word) => word.startsWith("--") && word !== "--"));
    const known = new Set([...others.split(" "), ...Object.keys(weaknesses).map((name) => name.split(" ")[0])]);
    expect([...used].sort()).toEqual([...known].sort());
    const bound = flags.flatMap((word, at) => (word === "--ro-bind" ? [`--ro-bind ${flags[at + 2]}`] : []));
    expect(bound.sort()).toEqual(
      Object.keys(weaknesses)
        .filter((name) => name.startsWith("--ro-bind "))
        .sort(),
    );
  });
});

describe("a namespace of the sandbox's own (SEC-132, SEC-133)", () => {
  it("hides shared memory; a control without --unshare-ipc finds it", async () => {
    using memory = sharedMemory(home);
    const find = async (room: AttackRoom) => (await room.calls(rawCall("shmget", memory.key, 0, 0))).results?.[0];
    const ENOENT = -2;

    expect(await inRoom({}, find)).toBe(ENOENT);
    expect(await inRoom({ weakness: weaknesses["--unshare-ipc"] }, find)).toBeGreaterThanOrEqual(0);
  });

  it("hides processes; a control without --unshare-pid reads a command line", async () => {
    await using running = await hostProcess(null);
    const look = async (room: AttackRoom) =>
      (await room.shell(`tr '\\0' ' ' </proc/${running.pid}/cmdline; ${endAmongOthers}`)).text.includes(running.word);

    expect(await inRoom({}, look)).toBe(false);
    expect(await inRoom({ weakness: weaknesses["--unshare-pid"] }, look)).toBe(true);
  });

  it("has no way to a listener; a control without --unshare-net is heard", async () => {
    await using waiting = await listeners(home);
    const speak = (room: AttackRoom) =>
      room.shell(`exec 9<>/dev/tcp/127.0.0.1/${waiting.tcpPort} && read -r -t 20 -u 9 line && echo "$line"`);

    expect((await inRoom({}, speak)).text).not.toContain("heard");
    expect(waiting.heard).toEqual([]);
    expect((await inRoom({ weakness: weaknesses["--unshare-net"] }, speak)).text).toBe("heard\n");
    expect(waiting.heard).toEqual(["tcp"]);
  });

  it.each(["uts", "cgroup"] as const)(
    "is another %s namespace than the host's, and the host's in a control",
    async (kind) => {
      const look = async (room: AttackRoom) => (await room.shell(`readlink /proc/self/ns/${kind}`)).text.trim();

      expect(await inRoom({}, look)).toMatch(new RegExp(`^${kind}:\\[\\d+\\]$`));
      expect(await inRoom({}, look)).not.toBe(hostNamespace(kind));
      expect(await inRoom({ weakness: weaknesses[`--unshare-${kind}`] }, look)).toBe(hostNamespace(kind));
    },
  );

  it("is made by bubblewrap itself for users, since a run uid is never root", async () => {
    const look = async (room: AttackRoom) => (await room.shell("readlink /proc/self/ns/user")).text.trim();
    const weakness = together(weaknesses["--unshare-user"], weaknesses["--disable-userns"]); // the second asks for the first

    expect(await inRoom({}, look)).not.toBe(hostNamespace("user"));
    expect(await inRoom({ weakness }, look)).toMatch(/^user:\[\d+\]$/);
    expect(await inRoom({ weakness }, look)).not.toBe(hostNamespace("user"));
    await expect(inRoom({ weakness: weaknesses["--unshare-user"] }, look)).rejects.toMatchObject({
      code: "SANDBOX_FAILED",
    });
  });
});

describe("new namespaces from inside (SEC-51)", () => {
  const unshare = async (room: AttackRoom) => (await room.calls(rawCall("unshare", newUser))).results?.[0];

  it("are kept away by the filter alone and by --disable-userns alone; a control without both makes one", async () => {
    const both = together(weaknesses["--disable-userns"], weaknesses["--seccomp"]);

    expect(await inRoom({}, unshare)).toBe(EPERM);
    expect(await inRoom({ weakness: weaknesses["--disable-userns"] }, unshare)).toBe(EPERM);
    expect(await inRoom(unfiltered, unshare)).toBeLessThan(0);
    expect(await inRoom({ weakness: both, without: ["seccomp"] }, unshare)).toBe(0);
  });
});

describe("ids and capabilities (SEC-133)", () => {
  it("are 1000 inside, whoever runs it; a control without --uid or --gid shows the host's", async () => {
    const ids = async (room: AttackRoom) => {
      const { uid, gid } = statSync(room.workspace.folder);
      const [insideUid, insideGid] = (await room.shell("id -u; id -g")).text.split("\n");
      return { uid: [uid, Number(insideUid)], gid: [gid, Number(insideGid)] } as const;
    };

    expect(await inRoom({}, ids)).toMatchObject({ uid: [expect.any(Number), 1000], gid: [expect.any(Number), 1000] });
    const withoutUid = await inRoom({ weakness: weaknesses["--uid"] }, ids);
    expect(withoutUid.uid[1]).toBe(withoutUid.uid[0]);
    const withoutGid = await inRoom({ weakness: weaknesses["--gid"] }, ids);
    expect(withoutGid.gid[1]).toBe(withoutGid.gid[0]);
  });

  it("are dropped by bubblewrap itself; a control that adds them shows them", async () => {
    const look = async (room: AttackRoom) => (await room.shell("grep ^CapEff /proc/self/status | cut -f2")).text.trim();
    const none = "0".repeat(16);

    expect(await inRoom({}, look)).toBe(none);
    expect(await inRoom({ weakness: weaknesses["--cap-drop"] }, look)).toBe(none);
    expect(await inRoom({ weakness: withCapabilities, without: ["no_capabilities"] }, look)).not.toBe(none);
  });

  it("leave no mount: by the filter, by capabilities, and by the user namespace that bubblewrap makes for ids but 0", async () => {
    const mount = async (room: AttackRoom) =>
      (await room.calls(rawCall("mount", text("none"), text("/tmp"), text("tmpfs"), 0, 0))).results?.[0];
    const { "--seccomp": noFilter, "--disable-userns": oneUserNamespace, "--uid": noUid, "--gid": noGid } = weaknesses;
    const asInnerRoot: Weakness = { ...together(noUid, noGid, oneUserNamespace), added: ["--uid", "0", "--gid", "0"] };
    const without = ["not_root", "no_capabilities", "seccomp"] as const;

    expect(await inRoom({}, mount)).toBe(EPERM);
    const onlyFilter = together(withCapabilities, asInnerRoot);
    expect(await inRoom({ weakness: onlyFilter, without }, mount)).toBe(EPERM);
    const onlyCapabilities = together(noFilter, asInnerRoot);
    expect(await inRoom({ weakness: onlyCapabilities, without }, mount)).toBe(EPERM);
    const onlyUserNamespace = together(noFilter, withCapabilities);
    expect(await inRoom({ weakness: onlyUserNamespace, without }, mount)).toBe(EPERM);
    expect(await inRoom({ weakness: together(noFilter, withCapabilities, asInnerRoot), without }, mount)).toBe(0);
  });
});

describe("the environment (SEC-45, SEC-133)", () => {
  it("is the listed one by --clearenv alone and by a service that hands on nothing; a control without both leaks", async () => {
    const planted = "COUNTERSIGN_PLANTED";
    const look = async (room: AttackRoom) => (await room.shell(`echo "[$${planted}]"`)).text.trim();
    const careless: Weakness = { removed: [], environment: { [planted]: "seen" } };

    expect(await inRoom({ weakness: careless }, look)).toBe("[]");
    vi.stubEnv(planted, "seen");
    expect(await inRoom({ weakness: weaknesses["--clearenv"] }, look)).toBe("[]");
    vi.unstubAllEnvs();
    expect(await inRoom({ weakness: together(careless, weaknesses["--clearenv"]) }, look)).toBe("[seen]");
  });
});

describe("what is bound from the host (SEC-133)", () => {
  const optionsOf = (place: string) => async (room: AttackRoom) =>
    (await room.shell(`grep -F ' ${place} ' /proc/self/mountinfo | cut -d' ' -f6`)).text;

  it.each(Object.entries(weaknesses).filter(([name]) => name.startsWith("--ro-bind ")))(
    "is read-only by %s; in a control it is writable",
    async (name, weakness) => {
      const place = name.replace("--ro-bind ", "");

      expect(await inRoom({}, optionsOf(place))).toMatch(/^ro[,\n]/);
      expect(await inRoom({ weakness }, optionsOf(place))).toMatch(/^rw[,\n]/);
    },
  );

  it("can't be written by anyone, and is written in a control", async () => {
    const folder = join(home.folder, "shared");
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    const workspace = { toolchains: [{ name: "shared", folder, addToPath: false }] };
    const weakness = { removed: [{ flag: "--ro-bind", operands: 2, of: "/opt/shared", instead: "--bind" }] } as const;
    const write = (room: AttackRoom) => room.shell("echo x >/opt/shared/made");

    expect((await inRoom({ workspace }, write)).text).toContain("Read-only file system");
    expect(existsSync(join(folder, "made"))).toBe(false);
    expect((await inRoom({ workspace, weakness }, write)).exitCode).toBe(0);
    expect(existsSync(join(folder, "made"))).toBe(true);
  });

  it.each([
    ["/proc", "printf x >/proc/$$/comm"],
    ["/dev", ": >/dev/made"],
    ["/", ": >/made"],
  ] as const)("leaves %s read-only by --remount-ro; a control writes there", async (place, script) => {
    const write = (room: AttackRoom) => room.shell(script);

    expect((await inRoom({}, write)).text).toContain("Read-only file system");
    expect(await inRoom({ weakness: weaknesses[`--remount-ro ${place}`] }, write)).toEqual({ exitCode: 0, text: "" });
  });
});

describe("the filter (SEC-50 to SEC-52, SEC-133)", () => {
  const room = { kind: "room" } as const;
  const attempts = {
    "ptrace of the parent": [rawCall("ptrace", 0, 0, 0, 0)],
    "a key ring": [rawCall("add_key", text("user"), text("countersign"), text("x"), 1, -1)],
    "an io_uring": [rawCall("io_uring_setup", 1, room)],
    "a tree of mounts as a descriptor": [rawCall("open_tree", -100, text("/"), 0)],
    "page faults handled by the program": [rawCall("userfaultfd", 1)],
    "the clock's state": [rawCall("adjtimex", new Uint8Array(208))],
    "a terminal's line discipline": askTerminal("TIOCSETD"),
    "a terminal's input": askTerminal("TIOCSTI"),
  };
  /** Errors of a kernel that was built or set up without it, which is then no control; EFAULT: it got as far as its answer. */
  const EFAULT = -14;
  const isAbsent = (name: string, result: number | undefined): boolean =>
    (name === "a terminal's input" && hostSetting("dev/tty/legacy_tiocsti") === "0") ||
    (name === "an io_uring" && hostSetting("kernel/io_uring_disabled") === "2") ||
    result === -38;

  it.each(Object.entries(attempts))("keeps away %s; a control without it gets it", async (name, calls) => {
    const attempt = async (inside: AttackRoom) => (await inside.calls(...calls)).results?.at(-1);

    expect(await inRoom({}, attempt)).toBe(EPERM);
    const got = await inRoom(unfiltered, attempt);
    expect(got === EFAULT || isAbsent(name, got) || (got ?? EPERM) >= 0, `${name}: ${got}`).toBe(true);
  });

  it("keeps away sockets of other families, which no network namespace divides", async (context) => {
    const open = async (inside: AttackRoom) => (await inside.calls(rawCall("socket", 40, 1, 0))).results?.[0];

    expect(await inRoom({}, open)).toBe(EPERM);
    if ((callsOnHost(home, rawCall("socket", 40, 1, 0))[0] ?? -1) < 0)
      return context.skip("not run: a kernel without AF_VSOCK");
    expect(await inRoom(unfiltered, open)).toBeGreaterThanOrEqual(0);
  });

  it("ends a program that calls as a foreign architecture does", async (context) => {
    const call = { gate: "i386", number: 20, args: [] } as const; // getpid
    const foreign = (inside: AttackRoom) => inside.calls(call);

    expect(await inRoom({}, foreign)).toMatchObject({ exitCode: expect.any(Number), results: null });
    const control = await inRoom(unfiltered, foreign);
    if (control.results === null) return context.skip("not run: a kernel without 32-bit calls");
    expect((await inRoom({}, foreign)).exitCode).toBe(128 + 31); // SIGSYS
  });
});
