import { posix } from "node:path";
import type { ExecResult } from "../../domain/index.ts";
import type { GithubWriter } from "../../github/index.ts";
import type { FileRead, FileWrite, PathResolution, Workspace } from "../../workspace/index.ts";
import { links } from "./oracle.ts";

/** Hands that do nothing and count what they are asked for. */
export type CountingHands = {
  readonly workspace: Workspace;
  readonly writer: GithubWriter;
  /** How often something was to be changed or run. */
  readonly used: () => number;
  /** From now on each file has other bytes. */
  readonly changeContent: () => void;
};

const quietExit: ExecResult = {
  exitCode: 0,
  signal: null,
  output: new Uint8Array(),
  droppedBytes: 0,
  droppedAt: 0,
  stdoutBytes: 0,
  stderrBytes: 0,
  durationMs: 1,
  timedOut: false,
  isCanceled: false,
  limit: null,
  killed: [],
};

const nothing = { changes: [] } as const;
const base = { repositoryId: "local:0", commitSha: "0", treeSha: "0", entries: new Map(), mirrorFolder: "/nowhere" };

/** Through the links of the oracle's checkout. */
function followed(path: string): string {
  const [first = "", ...rest] = posix.normalize(path).split("/");
  return [links[first] ?? first, ...rest].join("/");
}

function resolve(path: string): Promise<PathResolution> {
  const resolved = followed(path).replace(/\/$/, "");
  if (resolved.startsWith("..") || resolved.startsWith("/"))
    return Promise.resolve({ kind: "outside", requested: path, cause: "it leaves the root" });
  const symlink = resolved !== posix.normalize(path);
  return Promise.resolve({ kind: "inside", requested: path, resolved, class: "file", symlink });
}

/** Every file, by how often its bytes were changed. */
function fileOf(version: number): FileRead {
  const bytes = Buffer.from(`a ${version}`);
  const facts = { mode: "100644", sizeBytes: bytes.byteLength, hardLinks: 1 } as const;
  return { kind: "file", bytes, sha256: String(version).repeat(64), ...facts };
}

const idle = {
  folder: "/nowhere",
  base,
  searchPath: [],
  checkout: "copy",
  resolve,
  closeNames: () => Promise.resolve([]),
  markSetUp: () => Promise.resolve({ kind: "marked", made: 0 }),
  [Symbol.asyncDispose]: () => Promise.resolve(),
} as const satisfies Partial<Workspace>;

export function createCountingHands(): CountingHands {
  let used = 0;
  let version = 1;
  const use =
    <Value>(value: Value) =>
    (): Promise<Value> => {
      used += 1;
      return Promise.resolve(value);
    };
  const reading = () => Promise.resolve({ kind: "read", changeSet: nothing, fingerprint: String(version) } as const);
  const refused: FileWrite = { kind: "refused", cause: "nothing is written here" };
  return {
    workspace: {
      ...idle,
      readFile: () => Promise.resolve(fileOf(version)),
      replaceFile: use(refused),
      createFile: use(refused),
      deleteFile: use(refused),
      exec: use(quietExit),
      execApart: use(quietExit),
      setUp: use({ result: quietExit, hosts: [], asked: [], unusable: [] }),
      apply: use(undefined),
      takeChanges: reading,
      readBack: reading,
      fingerprint: () => Promise.resolve(String(version)),
    },
    writer: {
      write: use({ kind: "applied", result: {}, evidence: {} } as const),
      look: () => Promise.resolve({ kind: "inconclusive", evidence: {} }),
    },
    used: () => used,
    changeContent: () => {
      version += 1;
    },
  };
}
