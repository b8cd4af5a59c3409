import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readFilter, seccompFilter } from "../../src/workspace/seccomp-filter.ts";
import { compileX64Filter } from "../../src/workspace/seccomp-rules.ts";
import { runFilter, type SystemCall } from "./bpf-interpreter.ts";

/** Written out from `asm/unistd_64.h` and SEC-51, apart from the rules of the filter. */
const eperm = new Map(
  `unshare 272, setns 308, mount 165, umount2 166, pivot_root 155, chroot 161, open_tree 428, move_mount 429, fsopen 430,
  fsconfig 431, fsmount 432, fspick 433, mount_setattr 442, open_tree_attr 467, ptrace 101, process_vm_readv 310,
  process_vm_writev 311, pidfd_getfd 438, kcmp 312, add_key 248, request_key 249, keyctl 250, bpf 321, perf_event_open 298,
  userfaultfd 323, io_uring_setup 425, io_uring_enter 426, io_uring_register 427, init_module 175, finit_module 313,
  delete_module 176, kexec_load 246, kexec_file_load 320, reboot 169, swapon 167, swapoff 168, open_by_handle_at 304,
  settimeofday 164, clock_settime 227, adjtimex 159, clock_adjtime 305, iopl 172, ioperm 173, msgget 68`
    .split(",")
    .map((pair) => pair.trim().split(" "))
    .map(([name = "", number]) => [Number(number), name]),
);
const cloneFlags = {
  CLONE_NEWTIME: 0x80n,
  CLONE_NEWNS: 0x20000n,
  CLONE_NEWCGROUP: 0x2000000n,
  CLONE_NEWUTS: 0x4000000n,
  CLONE_NEWIPC: 0x8000000n,
  CLONE_NEWUSER: 0x10000000n,
  CLONE_NEWPID: 0x20000000n,
  CLONE_NEWNET: 0x40000000n,
};
const terminalRequests = { TIOCSTI: 0x5412n, TIOCLINUX: 0x541cn, TIOCSETD: 0x5423n };
const families = { AF_UNIX: 1n, AF_INET: 2n, AF_INET6: 10n, AF_NETLINK: 16n };
const architectures = { x86_64: 0xc000003e, i386: 0x40000003, aarch64: 0xc00000b7, riscv64: 0xc00000f3 };

const allow = 0x7fff0000;
const errno = (number: number): number => 0x50000 + number;
const killProcess = 0x80000000;
const [EPERM, ENOSYS] = [1, 38];

/** SEC-51 and SEC-52 in plain words: only the lower half of an argument is what the kernel itself looks at. */
function requiredAnswer({ arch, nr, args: [first = 0n, second = 0n] }: SystemCall): number {
  const low = (value: bigint): bigint => value & 0xffffffffn;
  if (arch !== architectures.x86_64) return killProcess;
  if (nr >= 0x40000000 || [435, 319, 447].includes(nr)) return errno(ENOSYS);
  if (eperm.has(nr)) return errno(EPERM);
  const isDenied =
    (nr === 56 && Object.values(cloneFlags).some((flag) => (first & flag) !== 0n)) ||
    (nr === 16 && Object.values(terminalRequests).includes(low(second))) ||
    (nr === 29 && second > 4096n) ||
    (nr === 64 && low(second) > 32n) ||
    ((nr === 41 || nr === 53) && !Object.values(families).includes(low(first)));
  return isDenied ? errno(EPERM) : allow;
}

const filter = seccompFilter("x64");
const ask = (nr: number, ...args: readonly bigint[]): number =>
  runFilter(filter, { arch: architectures.x86_64, nr, args });

describe("the filter for x64 (SEC-50)", () => {
  it("is what its rules compile to, byte for byte", () => {
    const kept = readFileSync(new URL("../../src/workspace/seccomp-x64.txt", import.meta.url), "utf8");

    expect(kept).toBe(compileX64Filter());
  });

  it("is a whole number of instructions, and few enough for the kernel", () => {
    expect(filter.length % 8).toBe(0);
    expect(filter.length / 8).toBeLessThanOrEqual(4096);
    expect(filter.length / 8).toBeGreaterThan(eperm.size);
  });
});

describe("what the filter answers (SEC-51)", () => {
  it("is what the design asks for, for each call of the kernel", () => {
    for (let nr = 0; nr < 1024; nr++) {
      const call = { arch: architectures.x86_64, nr, args: [0n, 0n, 0n, 0n, 0n, 0n] };
      expect(runFilter(filter, call), `call ${nr}`).toBe(requiredAnswer(call));
    }
  });

  it.each([...eperm])("is EPERM for call %i, %s, whatever its arguments", (nr) => {
    expect(ask(nr)).toBe(errno(EPERM));
    expect(ask(nr, 0xffffffffffffffffn, 1n, 2n)).toBe(errno(EPERM));
  });

  it("is a killed process for every foreign architecture", () => {
    for (const arch of [architectures.i386, architectures.aarch64, architectures.riscv64, 0, 0x8000003e]) {
      expect(runFilter(filter, { arch, nr: 39, args: [] })).toBe(killProcess);
    }
  });

  it("is ENOSYS for clone3, the calls that make memory files, and the x32 range, so that libraries fall back", () => {
    for (const nr of [435, 319, 447, 0x40000000, 0x40000000 + 41, 0x40000000 + 512, 0xffffffff]) {
      expect(ask(nr)).toBe(errno(ENOSYS));
    }
  });

  it.each(Object.entries(cloneFlags))("is EPERM for clone with %s, alone or among others", (_name, flag) => {
    expect(ask(56, flag)).toBe(errno(EPERM));
    expect(ask(56, flag | 0x3d0f00n)).toBe(errno(EPERM));
  });

  it("lets fork and threads be, as libraries make them", () => {
    expect(ask(56, 0x1200011n)).toBe(allow); // glibc's fork: CHILD_SETTID, CHILD_CLEARTID, SIGCHLD
    expect(ask(56, 0x3d0f00n)).toBe(allow); // glibc's threads
    expect(ask(57)).toBe(allow);
    expect(ask(58)).toBe(allow);
  });

  it.each(Object.entries(terminalRequests))("is EPERM for ioctl %s, its upper half set or not", (_name, request) => {
    expect(ask(16, 0n, request)).toBe(errno(EPERM));
    expect(ask(16, 0n, request | 0xdeadbeef00000000n)).toBe(errno(EPERM));
    expect(ask(16, request, 0x5413n)).toBe(allow);
  });
});

describe("memory in no process and no file system (SEC-55)", () => {
  it("is had of System V in a page a segment and 32 semaphores a set, which databases need, and no more", () => {
    expect([0n, 56n, 4096n].map((bytes) => ask(29, 0n, bytes))).toEqual([allow, allow, allow]);
    expect([4097n, 2n ** 32n, 2n ** 64n - 1n].map((bytes) => ask(29, 0n, bytes))).toEqual(Array(3).fill(errno(EPERM)));
    expect([17n, 32n, 33n, 0xffffffffn].map((count) => ask(64, 0n, count) === allow)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});

describe("sockets (SEC-52)", () => {
  it("can be of four families and of no other", () => {
    for (let family = 0n; family < 64n; family++) {
      const expected = Object.values(families).includes(family) ? allow : errno(EPERM);
      expect(ask(41, family, 1n), `family ${family}`).toBe(expected);
      expect(ask(53, family, 1n), `pair of family ${family}`).toBe(expected);
    }
    expect(ask(41, 40n)).toBe(errno(EPERM)); // AF_VSOCK
  });
});

/** Mostly what the rules are about, else anything. */
const word = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const special = fc.constantFrom(
  ...[cloneFlags, terminalRequests, families].flatMap((group) => Object.values<bigint>(group)),
  ...[40n, 32n, 33n, 4096n, 4097n],
);
const argument = fc.oneof(
  special,
  fc.tuple(special, word).map(([low, high]) => (high << 32n) | low),
  word,
);
const anyCall: fc.Arbitrary<SystemCall> = fc.record({
  arch: fc.oneof(
    { weight: 9, arbitrary: fc.constant(architectures.x86_64) },
    fc.constantFrom(...Object.values(architectures)),
    fc.nat(0xffffffff),
  ),
  nr: fc.oneof(
    fc.constantFrom(56, 435, 16, 41, 53, 29, 64, 319, 447, ...eperm.keys()),
    fc.nat(600),
    fc.nat(0xffffffff),
  ),
  args: fc.array(argument, { minLength: 6, maxLength: 6 }),
});

describe("a property of the filter", () => {
  it("answers every call as the design asks for", () => {
    fc.assert(
      fc.property(anyCall, (call) => {
        expect(runFilter(filter, call)).toBe(requiredAnswer(call));
      }),
      { numRuns: 5000 },
    );
  });
});

describe("a machine without a valid filter", () => {
  let folder: string;
  const failed = (message: string) =>
    expect.objectContaining({ code: "SANDBOX_FAILED", message: expect.stringContaining(message) });

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "countersign-filter-"));
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  it("is refused by the name of its architecture, with what to do", () => {
    for (const arch of ["arm64", "ia32", "riscv64", "", "X64"]) {
      expect(() => seccompFilter(arch), arch).toThrow(failed(`no system call filter for \`${arch}\``));
    }
    expect(() => seccompFilter("arm64")).toThrow(
      expect.objectContaining({ remedy: expect.stringContaining("x64 machine") }),
    );
  });

  it.each([
    ["can't be read", null],
    ["is empty", ""],
    ["is cut short", "0020 00 00 00000004\n0015 00 42 c000"],
    ["is malformed in line 2", "0020 00 00 00000004\n0015 00 42\n"],
    ["is malformed in line 1", "0020 00 00 00000004 \n"],
  ])("is refused where its file %s", (message, text) => {
    const file = join(folder, "filter.txt");
    if (text === null) rmSync(file, { force: true });
    else writeFileSync(file, text);

    expect(() => readFilter(pathToFileURL(file))).toThrow(failed(message));
  });
});
