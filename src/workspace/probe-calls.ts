import { remedies } from "./probe-script.ts";
import { type RawCall, rawCall } from "./system-call-program.ts";

/** What the host made for the probe, for the calls that reach out. */
export type CallAims = { readonly abstractName: string; readonly socketPath: string };

/** A barrier that is tried by system calls of our own. Where a call gets through, it harms nothing. */
export type CallBarrier = {
  readonly name: string;
  readonly calls: (aims: CallAims) => readonly RawCall[];
  readonly holds: (results: readonly number[]) => boolean;
  readonly remedy: string;
};

/** `asm-generic/errno*.h`. */
const errors = { EPERM: 1, ENOSYS: 38 };

const text = (characters: string): Uint8Array => Buffer.from(`${characters}\0`, "latin1");
const room = { kind: "room" } as const;
const unixAddress = (path: string): Uint8Array => Buffer.from(`\x01\0${path}`, "latin1"); // struct sockaddr_un
const connectTo = (path: string): readonly RawCall[] => {
  const address = unixAddress(path);
  return [rawCall("socket", 1, 1, 0), rawCall("connect", { kind: "result", of: 0 }, address, address.length)]; // AF_UNIX, SOCK_STREAM
};

const everyCallIs = (error: number) => (results: readonly number[]) => results.every((result) => result === -error);
const lastFails = (results: readonly number[]): boolean => (results.at(-1) ?? 0) < 0;

const newUser = 0x1000_0000; // CLONE_NEWUSER
const unshareUser = rawCall("unshare", newUser);
const mountTmpfs = rawCall("mount", text("none"), text("/tmp"), text("tmpfs"), 0, 0);
const rawSocket = rawCall("socket", 2, 3, 1); // AF_INET, SOCK_RAW, IPPROTO_ICMP

/** By the filter: each of these calls must be answered EPERM, whatever its arguments (SEC-51, SEC-52). */
const filtered: Readonly<Record<string, readonly RawCall[]>> = {
  vsock: [rawCall("socket", 40, 1, 0)],
  socket_families: [
    rawCall("socket", 17, 3, 0x300),
    rawCall("socket", 38, 5, 0),
    rawCall("socketpair", 30, 5, 0, room),
  ], // packet, alg, tipc
  ptrace: [
    ...[rawCall("process_vm_readv", 0, 0, 0, 0, 0, 0), rawCall("process_vm_writev", 0, 0, 0, 0, 0, 0)],
    ...[rawCall("pidfd_getfd", -1, 0, 0), rawCall("kcmp", 0, 0, 99, 0, 0)],
    rawCall("ptrace", 0, 0, 0, 0), // PTRACE_TRACEME
  ],
  key_rings: [rawCall("add_key", 0, 0, 0, 0, 0), rawCall("request_key", 0, 0, 0, 0), rawCall("keyctl", 0, -2, 0)],
  io_uring: [
    rawCall("io_uring_setup", 1, room),
    rawCall("io_uring_enter", -1, 0, 0, 0, 0, 0),
    rawCall("io_uring_register", -1, 0, 0, 0),
  ],
  kernel_interfaces: [rawCall("bpf", 99, 0, 0), rawCall("perf_event_open", 0, 0, 0, -1, 0), rawCall("userfaultfd", 1)],
  terminal_injection: [0x5412, 0x541c, 0x5423].map((request) => rawCall("ioctl", 0, request, room)),
  file_handles: [rawCall("open_by_handle_at", -100, room, 0)],
  clock: [rawCall("adjtimex", new Uint8Array(208))], // a struct timex that sets nothing
  mount: [
    mountTmpfs,
    rawCall("fsopen", text("tmpfs"), 0),
    rawCall("open_tree", -100, text("/"), 0),
    rawCall("chroot", text("/")),
  ],
};

/** In the order of the calls: what changes the process for those after it stands last. */
export const callBarriers: readonly CallBarrier[] = [
  { name: "raw_socket", calls: () => [rawSocket], holds: lastFails, remedy: remedies.bubblewrap },
  {
    name: "abstract_socket",
    calls: ({ abstractName }) => connectTo(`\0${abstractName}`),
    holds: lastFails,
    remedy: remedies.namespaces,
  },
  {
    name: "path_socket",
    calls: ({ socketPath }) => connectTo(`${socketPath}\0`),
    holds: lastFails,
    remedy: remedies.bubblewrap,
  },
  {
    name: "device_nodes",
    calls: () => [rawCall("mknod", text("/tmp/device"), 0o020600, 0x101)], // mknod, as /dev/mem
    holds: lastFails,
    remedy: remedies.bubblewrap,
  },
  {
    name: "foreign_calls", // clone3 and the x32 range
    calls: () => [rawCall("clone3", room, 0), rawCall("first_of_x32")],
    holds: everyCallIs(errors.ENOSYS),
    remedy: remedies.filter,
  },
  ...Object.entries(filtered).map(([name, calls]) => ({
    ...{ name, calls: () => calls, holds: everyCallIs(errors.EPERM), remedy: remedies.filter },
  })),
  {
    name: "nested_namespaces",
    calls: () => [rawCall("clone", newUser | 17, 0), unshareUser],
    holds: everyCallIs(errors.EPERM),
    remedy: remedies.filter,
  },
];

/** What must hold in a sandbox without the filter too: two barriers guard it, and each must hold alone. */
export const unfilteredBarriers: readonly CallBarrier[] = [
  { name: "raw_socket_without_filter", calls: () => [rawSocket], holds: lastFails, remedy: remedies.bubblewrap },
  { name: "mount_without_filter", calls: () => [mountTmpfs], holds: lastFails, remedy: remedies.bubblewrap },
  {
    name: "nested_namespaces_without_filter",
    calls: () => [unshareUser],
    holds: lastFails,
    remedy: remedies.bubblewrap,
  },
];

/** All calls of all barriers for one program: where a call takes an earlier one's result, its number is counted on. */
export function callsOf(barriers: readonly CallBarrier[], aims: CallAims): readonly RawCall[] {
  const all: RawCall[] = [];
  for (const barrier of barriers) {
    const before = all.length;
    for (const call of barrier.calls(aims)) {
      const args = call.args.map((argument) =>
        typeof argument === "object" && !(argument instanceof Uint8Array) && argument.kind === "result"
          ? { ...argument, of: argument.of + before }
          : argument,
      );
      all.push({ ...call, args });
    }
  }
  return all;
}
