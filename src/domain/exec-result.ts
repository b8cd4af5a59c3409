/**
 * What a sandbox was killed for, beside its time (SEC-55 to SEC-57). `atMost` is in milliseconds (`idle`), bytes (`output`,
 * `run_output`, `memory`, `work_bytes`) or a count (`processes`, `work_inodes`).
 */
export type ReachedLimit = {
  readonly kind: "idle" | "output" | "run_output" | "memory" | "processes" | "work_bytes" | "work_inodes";
  readonly atMost: number;
};

/** A finished process as data. The first reason to end it wins. */
export type ExecResult = {
  /** Null where a signal or a limit ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Standard output and error in order of arrival, bounded: first 4 MiB, last 12 MiB. */
  readonly output: Uint8Array;
  /** Bytes dropped between head and tail of `output`, at the offset where the tail begins. */
  readonly droppedBytes: number;
  readonly droppedAt: number;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  readonly durationMs: number;
  readonly timedOut: boolean;
  readonly isCanceled: boolean;
  /** Null where no limit but that of time was reached. */
  readonly limit: ReachedLimit | null;
  /** Names of processes that outlived the shell and were killed. */
  readonly killed: readonly string[];
};
