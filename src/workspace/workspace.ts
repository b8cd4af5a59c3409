import type { ChangeSet, ExecResult, FileChange, FileMode, TreeEntry } from "../domain/index.ts";

/** The tree of one commit, kept in a mirror that no sandbox can write. */
export type BaseTree = {
  /** `local:` and 16 hex digits, or a numeric id; safe as a folder name once `:` is replaced. */
  readonly repositoryId: string;
  readonly commitSha: string;
  readonly treeSha: string;
  /** Every file, link and gitlink, by repository-relative path. */
  readonly entries: ReadonlyMap<string, TreeEntry>;
  /** The bare repository that holds the objects. */
  readonly mirrorFolder: string;
};

/** Where a path leads when it is walked from the root's descriptor, one component at a time (SEC-86). */
export type PathResolution =
  | {
      readonly kind: "inside";
      readonly requested: string;
      /** Repository-relative; links followed, `.` and `..` resolved. */
      readonly resolved: string;
      readonly class: "file" | "folder" | "absent" | "other";
      /** Whether a link was followed on the way. */
      readonly symlink: boolean;
    }
  | { readonly kind: "outside"; readonly requested: string; readonly cause: string };

export type FileRead =
  | {
      readonly kind: "file";
      readonly bytes: Uint8Array;
      readonly mode: FileMode;
      readonly sizeBytes: number;
      readonly sha256: string;
      readonly hardLinks: number;
    }
  | { readonly kind: "too_large"; readonly sizeBytes: number }
  | { readonly kind: "absent" }
  | { readonly kind: "not_a_file"; readonly class: "folder" | "other" };

/** A finished write: the change against the tree before it. A refusal says what stood in the way. */
export type FileWrite =
  | { readonly kind: "written"; readonly change: FileChange; readonly sha256: string }
  | { readonly kind: "exists"; readonly sizeBytes: number }
  | { readonly kind: "absent" }
  | { readonly kind: "changed"; readonly sha256: string }
  | { readonly kind: "refused"; readonly cause: string };

export type ExecRequest = {
  /** `shell`: the text goes to bash as a file, never joined into a command line (ACI-54). `argv`: started as it is. */
  readonly program:
    | { readonly kind: "shell"; readonly script: string }
    | { readonly kind: "argv"; readonly argv: readonly string[] };
  /** Wall clock. At the limit: TERM to everything, 200 ms, KILL. */
  readonly timeoutMs: number;
  /** Further variables from the operator; secret-looking names and values are refused. */
  readonly environment?: Readonly<Record<string, string>>;
};

/** What differs between two moments of the tree, or what makes the tree unusable (SEC-88). */
export type TreeReading =
  | { readonly kind: "read"; readonly changeSet: ChangeSet; readonly fingerprint: string }
  | { readonly kind: "refused"; readonly causes: readonly string[] };

/**
 * A run's ephemeral checkout and its sandbox. Host file calls and sandboxed commands exclude each other: a call waits
 * until the other kind has ended. Disposing it ends every process and removes the folder.
 */
export type Workspace = AsyncDisposable & {
  readonly folder: string;
  readonly base: BaseTree;
  /** Where its commands find programs, in order, as paths inside (SEC-44). */
  readonly searchPath: readonly string[];
  /** Never throws for a hostile path; what can't be resolved inside is `outside`. */
  resolve(path: string): Promise<PathResolution>;
  /** `path` is a resolved one. Reads at most `maxBytes` + 1. */
  readFile(path: string, maxBytes: number): Promise<FileRead>;
  /** Replaces the bytes of a file whose SHA-256 is still `expectedSha256`, in one rename; mode and owner are kept (ACI-37). */
  replaceFile(path: string, bytes: Uint8Array, expectedSha256: string): Promise<FileWrite>;
  /** Creates exclusively with mode 0644, parents too (ACI-27). */
  createFile(path: string, bytes: Uint8Array): Promise<FileWrite>;
  /** Removes one regular file or link whose SHA-256 (of a link: of its text) is still `expectedSha256`. */
  deleteFile(path: string, expectedSha256: string): Promise<FileWrite>;
  /** Names beside a missing path that are close to it, best first, at most `count`. */
  closeNames(path: string, count: number): Promise<readonly string[]>;
  /**
   * One sandbox a command; at its end nothing in it lives. Throws SANDBOX_FAILED or WORKSPACE_POISONED. A signal aborted before
   * the start throws its reason; one aborted later ends the command, and the result says `isCanceled`.
   */
  exec(request: ExecRequest, signal: AbortSignal): Promise<ExecResult>;
  /** As `exec`, in a sandbox whose work folder holds these files alone, by name (ACI-11). */
  execApart(files: ReadonlyMap<string, Uint8Array>, request: ExecRequest, signal: AbortSignal): Promise<ExecResult>;
  /** What changed since the last call (or since the export): what the action just executed is put down to. */
  takeChanges(): Promise<TreeReading>;
  /** SHA-256 over path, mode and blob id of every file as last known. */
  fingerprint(): Promise<string>;
  /** The whole tree against the base, every byte hashed (SEC-85 to SEC-90). */
  readBack(): Promise<TreeReading>;
  /** Lays a change set on the tree (verification trees, restores). */
  apply(changeSet: ChangeSet): Promise<void>;
};
