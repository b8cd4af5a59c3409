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
  /** Names of processes that outlived the shell and were killed. */
  readonly killed: readonly string[];
};
