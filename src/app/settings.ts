import type { IdSource, Redactor } from "../domain/index.ts";
import type { Reach } from "../workspace/index.ts";

/** The settings of one Countersign, as plain values. */
export type CountersignSettings = {
  readonly home: string;
  readonly databaseUrl: string | null;
  readonly policiesFolder: string;
  readonly runUids: string | null;
  /** Where git and bwrap are looked for; null: where they usually lie. */
  readonly searchPath: string | null;
  /** Absent: no setup has a network, whatever the policy folder says. */
  readonly setupNetwork?: {
    /** How the world is reached by setup's proxy. */
    readonly reach: Reach;
    /** What npm and pip of this machine get of the environment when they are asked where packages come from. */
    readonly packageManagers: Readonly<Record<string, string | undefined>>;
  };
};

/** What every part of one process shares. */
export type CountersignDeps = IdSource & {
  /** Gets a line for the user when something unusual was done. */
  readonly notice: (line: string) => void;
  /** Of all ways out (SEC-100); learns the secrets that become live. */
  readonly redactor: Redactor;
};
