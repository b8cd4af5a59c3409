import { CountersignError } from "../domain/index.ts";

/** What a tree may hold (SEC-80), at export and at read-back. */
export type TreeLimits = {
  readonly files: number;
  readonly totalBytes: number;
  readonly fileBytes: number;
  readonly pathBytes: number;
  readonly depth: number;
  /** How many paths may differ from the base, and how many bytes these may hold. */
  readonly changedFiles: number;
  readonly changedBytes: number;
};

const mebibyte = 1024 * 1024;

/** The numbers of SEC-80; the two on changes bound what one run can ask a host to hold in memory. */
export const defaultTreeLimits: TreeLimits = {
  files: 50_000,
  totalBytes: 1024 * mebibyte,
  fileBytes: 50 * mebibyte,
  pathBytes: 4096,
  depth: 64,
  changedFiles: 5_000,
  changedBytes: 100 * mebibyte,
};

/** For a tree of our own that was measured before it was written. */
export const unlimited: TreeLimits = {
  files: Number.POSITIVE_INFINITY,
  totalBytes: Number.POSITIVE_INFINITY,
  fileBytes: Number.MAX_SAFE_INTEGER,
  pathBytes: Number.POSITIVE_INFINITY,
  depth: Number.POSITIVE_INFINITY,
  changedFiles: 0,
  changedBytes: 0,
};

/** Counts a tree while it is read. */
export class TreeMeasure {
  readonly #limits: TreeLimits;
  #files = 0;
  #totalBytes = 0;

  constructor(limits: TreeLimits) {
    this.#limits = limits;
  }

  /** The first limit that this entry passes, in words with numbers; null while all hold. */
  add(path: Buffer, sizeBytes: number): string | null {
    const limits = this.#limits;
    this.#files++;
    this.#totalBytes += sizeBytes;
    let depth = 1;
    for (const byte of path) if (byte === 0x2f) depth++;
    const shown = JSON.stringify(path.toString("utf8").slice(0, 200));
    if (path.length > limits.pathBytes)
      return `a path of ${path.length} bytes, allowed are ${limits.pathBytes}: ${shown}`;
    if (depth > limits.depth) return `a path of ${depth} levels, allowed are ${limits.depth}: ${shown}`;
    if (sizeBytes > limits.fileBytes) return `a file of ${sizeBytes} bytes, allowed are ${limits.fileBytes}: ${shown}`;
    return this.#excess();
  }

  /** As `add`, of files that were measured by themselves before. */
  addUnseen(files: number, bytes: number): string | null {
    this.#files += files;
    this.#totalBytes += bytes;
    return this.#excess();
  }

  #excess(): string | null {
    const limits = this.#limits;
    if (this.#files > limits.files) return `more than ${limits.files} files`;
    if (this.#totalBytes > limits.totalBytes) return `more than ${limits.totalBytes} bytes in all`;
    return null;
  }
}

export function refuseLargeTree(cause: string): never {
  throw new CountersignError("TREE_TOO_LARGE", `the tree of the commit is too large: ${cause}`);
}
