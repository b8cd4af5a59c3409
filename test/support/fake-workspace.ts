import { createHash } from "node:crypto";
import { posix } from "node:path";
import type { ChangeSet, ExecResult, FileChange, FileMode, TreeEntry } from "../../src/domain/index.ts";
import type {
  BaseTree,
  ExecRequest,
  FileRead,
  FileWrite,
  PathResolution,
  TreeReading,
  Workspace,
} from "../../src/workspace/index.ts";

export const sha256 = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");

const blobSha = (bytes: Uint8Array): string =>
  createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");

/** A promise of what the function gives or throws. */
const asks =
  <Arguments extends unknown[], Value>(work: (...args: Arguments) => Value) =>
  (...args: Arguments): Promise<Value> =>
    new Promise((resolve) => resolve(work(...args)));

const mode: FileMode = "100644";

/** A finished process with everything quiet but what is given. */
export function anExecResult(output: string | Uint8Array = "", overrides: Partial<ExecResult> = {}): ExecResult {
  const bytes = typeof output === "string" ? Buffer.from(output) : output;
  return {
    exitCode: 0,
    signal: null,
    output: bytes,
    droppedBytes: 0,
    droppedAt: 0,
    stdoutBytes: bytes.length,
    stderrBytes: 0,
    durationMs: 5,
    timedOut: false,
    isCanceled: false,
    limit: null,
    killed: [],
    ...overrides,
  };
}

type Exec = (request: ExecRequest, files: Map<string, Uint8Array>) => ExecResult;

/** A workspace in memory: no links, commands answered by a function that may change the files. */
export type FakeWorkspace = Workspace & { readonly files: Map<string, Uint8Array>; readonly requests: ExecRequest[] };

export function createFakeWorkspace(
  initial: Readonly<Record<string, string | Uint8Array>>,
  exec: Exec = () => anExecResult(),
): FakeWorkspace {
  const toBytes = (content: string | Uint8Array): Uint8Array =>
    typeof content === "string" ? Buffer.from(content) : content;
  const files = new Map(Object.entries(initial).map(([path, content]) => [path, toBytes(content)]));
  const entries = new Map<string, TreeEntry>(
    [...files].map(([path, bytes]) => [path, { mode, blobSha: blobSha(bytes), sizeBytes: bytes.length }]),
  );
  const base: BaseTree = { repositoryId: "local:0", commitSha: "0", treeSha: "0", entries, mirrorFolder: "/nowhere" };
  const requests: ExecRequest[] = [];
  let known = new Map(files);

  const change = (path: string, before: Uint8Array | undefined, after: Uint8Array | undefined): FileChange => ({
    path,
    before: before === undefined ? null : { mode, blobSha: blobSha(before), sizeBytes: before.length },
    after: after === undefined ? null : { mode, blobSha: blobSha(after), content: after },
  });
  const put = (path: string, after: Uint8Array | undefined): FileWrite => {
    const written = change(path, files.get(path), after);
    if (after === undefined) files.delete(path);
    else files.set(path, after);
    known = new Map(files);
    return { kind: "written", change: written, sha256: sha256(after ?? "") };
  };
  const differences = (from: ReadonlyMap<string, Uint8Array>): ChangeSet => ({
    changes: [...new Set([...from.keys(), ...files.keys()])]
      .toSorted()
      .filter((path) => from.get(path) !== files.get(path))
      .map((path) => change(path, from.get(path), files.get(path))),
  });
  const fingerprint = (): string =>
    sha256(JSON.stringify([...files].map(([path, bytes]) => [path, sha256(bytes)]).toSorted()));

  return {
    files,
    requests,
    folder: "/nowhere",
    searchPath: ["/usr/bin", "/bin"],
    base,
    resolve: asks((path: string): PathResolution => {
      const resolved = posix.normalize(path).replace(/\/$/, "");
      if (resolved.startsWith("..") || resolved.startsWith("/")) {
        return { kind: "outside", requested: path, cause: "it leaves the root" };
      }
      const isFolder = resolved === "." || [...files.keys()].some((name) => name.startsWith(`${resolved}/`));
      const otherwise = isFolder ? "folder" : "absent";
      const place = files.has(resolved) ? "file" : otherwise;
      return { kind: "inside", requested: path, resolved, class: place, symlink: false };
    }),
    readFile: asks((path: string, maxBytes: number): FileRead => {
      const bytes = files.get(path);
      if (bytes === undefined) return { kind: "absent" };
      if (bytes.length > maxBytes) return { kind: "too_large", sizeBytes: bytes.length };
      return { kind: "file", bytes, mode, sizeBytes: bytes.length, sha256: sha256(bytes), hardLinks: 1 };
    }),
    replaceFile: asks((path: string, bytes: Uint8Array, expected: string): FileWrite => {
      const present = files.get(path);
      if (present === undefined) return { kind: "absent" };
      return sha256(present) === expected ? put(path, bytes) : { kind: "changed", sha256: sha256(present) };
    }),
    createFile: asks((path: string, bytes: Uint8Array): FileWrite => {
      const present = files.get(path);
      return present === undefined ? put(path, bytes) : { kind: "exists", sizeBytes: present.length };
    }),
    deleteFile: asks((path: string, expected: string): FileWrite => {
      const present = files.get(path);
      if (present === undefined) return { kind: "absent" };
      return sha256(present) === expected ? put(path, undefined) : { kind: "changed", sha256: sha256(present) };
    }),
    closeNames: asks((path: string, count: number) =>
      [...files.keys()].filter((name) => posix.basename(name)[0] === posix.basename(path)[0]).slice(0, count),
    ),
    exec: asks((request: ExecRequest) => {
      requests.push(request);
      return exec(request, files);
    }),
    execApart: asks((apart: ReadonlyMap<string, Uint8Array>, request: ExecRequest) => {
      requests.push(request);
      return exec(request, new Map(apart));
    }),
    takeChanges: asks((): TreeReading => {
      const changeSet = differences(known);
      known = new Map(files);
      return { kind: "read", changeSet, fingerprint: fingerprint() };
    }),
    fingerprint: asks(fingerprint),
    readBack: asks(
      (): TreeReading => ({ kind: "read", changeSet: differences(new Map()), fingerprint: fingerprint() }),
    ),
    apply: asks(() => undefined),
    [Symbol.asyncDispose]: asks(() => undefined),
  };
}
