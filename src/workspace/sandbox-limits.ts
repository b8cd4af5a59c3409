const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;

/** The ladder of SEC-53, best first: what holds a sandbox to its limits. */
export const rungNames = ["cgroup_v2", "cgroup_v1", "prlimit"] as const;
export type RungName = (typeof rungNames)[number];

/** What the sandboxes of one workspace may use (SEC-55 to SEC-57). */
export type SandboxLimits = {
  /** Resident memory of all processes of a sandbox: the process budget. */
  readonly memoryBytes: number;
  /** Tasks at once. */
  readonly processes: number;
  /** Largest file that a process can write. */
  readonly fileBytes: number;
  readonly openFiles: number;
  /** What the work folder may hold, the checkout included. */
  readonly workBytes: number;
  readonly workInodes: number;
  /** Processors' worth of time; null: all that the machine has. */
  readonly cpus: number | null;
  /** On both streams of one command. */
  readonly outputBytes: number;
  /** Of all commands of a run. */
  readonly runOutputBytes: number;
  /** Without output and without work. */
  readonly idleMs: number;
};

/** The shipped `operator.json` has the same. */
export const defaultSandboxLimits: SandboxLimits = {
  memoryBytes: 4 * gibibyte,
  processes: 512,
  fileBytes: gibibyte,
  openFiles: 4096,
  workBytes: 2 * gibibyte,
  workInodes: 400_000,
  cpus: null,
  outputBytes: 256 * mebibyte,
  runOutputBytes: 2 * gibibyte,
  idleMs: 300_000,
};

/** What a run's commands have printed so far, in all its workspaces. */
export type OutputMeter = { usedBytes: number };
