import { assemble, type FilterLine, filterText } from "./bpf-assembler.ts";
import { type SystemCall, systemCalls } from "./system-calls.ts";

/** `linux/audit.h`: AUDIT_ARCH_X86_64. */
const ownArchitecture = 0xc000_003e;

/** Where `struct seccomp_data` (`linux/seccomp.h`) keeps what is compared; of arguments the lower 32 bits, on a little-endian machine. */
const offsets = { call: 0, architecture: 4, argument: (index: number): number => 16 + 8 * index };

/** `linux/seccomp.h` and `asm-generic/errno*.h`. */
const actions = { allow: 0x7fff_0000, eperm: 0x0005_0001, enosys: 0x0005_0026, kill_process: 0x8000_0000 };

/** What SEC-51 answers with EPERM, whatever the arguments, by what it could do. */
const deniedCalls: readonly SystemCall[] = [
  // into other namespaces, and mounts
  ...(["unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount"] as const),
  ...(["fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"] as const),
  "open_tree_attr", // of Linux 6.15: open_tree and mount_setattr in one
  // into other processes
  ...(["ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp"] as const),
  // key rings, which no namespace divides
  ...(["add_key", "request_key", "keyctl"] as const),
  // large and often broken parts of the kernel
  ...(["bpf", "perf_event_open", "userfaultfd"] as const),
  ...(["io_uring_setup", "io_uring_enter", "io_uring_register"] as const),
  // the machine itself
  ...(["init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load"] as const),
  ...(["reboot", "swapon", "swapoff"] as const),
  "open_by_handle_at", // past the mounts, to any file of a file system
  ...(["settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "iopl", "ioperm"] as const),
  "msgget", // 32,000 queues of 16 KiB each, in no process and in no file system
];

/**
 * Memory in no process and no file system is seen by nobody who counts from outside (docs/adr/0018-memory-that-nobody-sees.md). As on an
 * older kernel, so that runtimes take `/dev/shm`, which has a size.
 */
const missingCalls: readonly SystemCall[] = ["memfd_create", "memfd_secret"];
/** What databases take of System V's memory and semaphores. A namespace has 4,096 segments and 32,000 sets. */
const sharedSegmentBytes = 4096;
const semaphoresOfOneSet = 32;

/**
 * All CLONE_NEW* of `linux/sched.h`. CLONE_NEWTIME, 0x80, lies within clone's exit signal; no signal has a number that high, so
 * nothing that works is lost.
 */
const newNamespaces = 0x7e02_0080;
/** `asm-generic/ioctls.h`: TIOCSTI, TIOCLINUX, TIOCSETD. */
const deniedTerminalRequests = [0x5412, 0x541c, 0x5423];
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK (SEC-52). */
const permittedFamilies = [1, 2, 10, 16];

const when = (value: number, holds: string): FilterLine => ({ kind: "compare", test: "is", value, holds });
const unless = (value: number, fails: string): FilterLine => ({ kind: "compare", test: "is", value, fails });
const place = (name: string): FilterLine => ({ kind: "place", name });
const always = (action: number): FilterLine => ({ kind: "return", action });
const loadArgument = (index: number): FilterLine => ({ kind: "load", offset: offsets.argument(index) });
const loadUpperHalf = (index: number): FilterLine => ({ kind: "load", offset: offsets.argument(index) + 4 });
const denyAbove = (value: number): FilterLine => ({
  kind: "compare",
  test: "is_at_least",
  value: value + 1,
  holds: "eperm",
});

/** SEC-51 and SEC-52 for x64, in the order of checking. */
const x64Rules: readonly FilterLine[] = [
  { kind: "load", offset: offsets.architecture },
  unless(ownArchitecture, "kill"),
  { kind: "load", offset: offsets.call },
  { kind: "compare", test: "is_at_least", value: systemCalls.first_of_x32, holds: "enosys" },
  when(systemCalls.clone3, "enosys"), // its flags lie behind a pointer, which a filter can't follow; libraries fall back to clone
  ...missingCalls.map((name) => when(systemCalls[name], "enosys")),
  ...deniedCalls.map((name) => when(systemCalls[name], "eperm")),
  when(systemCalls.clone, "clone"),
  when(systemCalls.ioctl, "ioctl"),
  when(systemCalls.socket, "socket"),
  when(systemCalls.socketpair, "socket"), // it makes two, and loads the module of their family just so
  when(systemCalls.shmget, "segment"),
  when(systemCalls.semget, "semaphores"),
  always(actions.allow),

  place("clone"),
  loadArgument(0),
  { kind: "compare", test: "has_a_bit_of", value: newNamespaces, holds: "eperm", fails: "allow" },

  place("ioctl"),
  loadArgument(1),
  ...deniedTerminalRequests.map((request) => when(request, "eperm")),
  always(actions.allow),

  place("segment"),
  loadUpperHalf(1),
  denyAbove(0),
  loadArgument(1),
  denyAbove(sharedSegmentBytes),
  always(actions.allow),

  place("semaphores"),
  loadArgument(1),
  denyAbove(semaphoresOfOneSet),
  always(actions.allow),

  place("socket"),
  loadArgument(0),
  ...permittedFamilies.map((family) => when(family, "allow")),

  place("eperm"),
  always(actions.eperm),
  place("allow"),
  always(actions.allow),
  place("enosys"),
  always(actions.enosys),
  place("kill"),
  always(actions.kill_process),
];

/** What `seccomp-x64.txt` must hold; `scripts/compile-seccomp.mjs` writes it, a test compares (SEC-50). */
export const compileX64Filter = (): string => filterText(assemble(x64Rules));
