import type { RandomBytes } from "../domain/index.ts";

/** Whom files and sandboxed processes belong to; null where the service is not root and uses its own uid. */
export type Owner = { readonly uid: number; readonly gid: number } | null;

/**
 * Remembers what the next start must end and remove, should this process be killed (SEC-61); the function returned forgets it
 * again. `pid` is null where paths alone are registered. It is the store's `registerProcess`, bound to home.
 */
export type RegisterProcess = (
  what: string,
  registered: {
    readonly pid: number | null;
    readonly paths: readonly string[];
    readonly mounts: readonly string[];
    /** Folders of a control group. */
    readonly cgroups?: readonly string[];
  },
) => () => void;

/** What the room needs of the machine it runs on. */
export type WorkspaceDeps = {
  /** The folder of the service, absolute. */
  readonly home: string;
  /** Folders in which git, bwrap, prlimit and rm are looked for, divided by `:`. */
  readonly searchPath: string;
  readonly registerProcess: RegisterProcess;
  readonly randomBytes: RandomBytes;
};

/** Where the host's own programs usually lie. */
export const defaultSearchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export const isRoot = (): boolean => process.geteuid?.() === 0;

/** Lower-case hex of `count` random bytes: for names that nobody can foresee. */
export const randomName = (deps: Pick<WorkspaceDeps, "randomBytes">, count = 8): string =>
  Buffer.from(deps.randomBytes(count)).toString("hex");
