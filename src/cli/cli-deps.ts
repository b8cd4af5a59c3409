import type { ActionId, Clock, CountersignError, JsonObject, RandomBytes, Requester } from "../domain/index.ts";
import type { Keys, Ledger } from "../ledger/index.ts";
import type { AskApproval, PublishingDeps, RunDeps, RunEvent, RunReport } from "../run/index.ts";
import type { Store } from "../store/index.ts";
import type { Terminal } from "./terminal.ts";

/** What is on record: opened for one command and closed after it. */
export type Records = AsyncDisposable & { readonly store: Store; readonly ledger: Ledger; readonly keys: Keys };

/** One part that `doctor` tried for real. */
export type Check = {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** What to do, where it is not ok. */
  readonly remedy: string;
};

export type ExaminedPart = "all" | "sandbox" | "model" | "github";

/** A running service, and a line for each of its parts. */
export type Service = AsyncDisposable & {
  /** Resolves with why, where the service is to end for an outage of the log. */
  readonly givenUp: Promise<CountersignError>;
  readonly parts: readonly { readonly name: string; readonly detail: string }[];
};

/** An App that was registered. */
export type Registration = {
  readonly appId: number;
  readonly installUrl: string;
  /** Holds its credentials. */
  readonly folder: string;
  readonly hasWebhookSecret: boolean;
};

/** What happens in a demonstration: a line of its own, or an event of its run. */
export type DemoEvent = { readonly kind: "step"; readonly text: string } | RunEvent;

/** What is kept of a demonstration. */
export type KeptRecord = {
  /** Holds the arguments of the action that wrote last what was published. */
  readonly argumentsFile: string | null;
  readonly sizeBytes: number;
};

/** A demonstration whose run has ended. Everything is up until it is disposed. */
export type Demo = AsyncDisposable & {
  readonly report: RunReport;
  /** Whether the head that plain git fetched is what was tested; null where no pull request was opened. */
  readonly isHeadAsTested: boolean | null;
  /** Verified anew, from what is stored. */
  readonly ledger: { readonly size: number; readonly rootHash: string; readonly verified: boolean };
  readonly trace: { readonly spanCount: number; readonly isWhole: boolean };
  readonly timings: readonly { readonly part: string; readonly durationMs: number }[];
  readonly hasSucceeded: boolean;
  readonly home: string;
  readonly places: readonly { readonly name: string; readonly address: string }[];
  /** The action that wrote last what was published; null where nothing was. */
  readonly publishedBy: ActionId | null;
  /** Its folder outlives it. */
  keep(): Promise<KeptRecord>;
};

/** Who hears of a run, and whom it may ask. */
export type RunHooks = {
  readonly onEvent: (event: RunEvent) => void;
  readonly askApproval: AskApproval | null;
};

/** What the commands work with; `main.ts` gives it. */
export type CliDeps = {
  readonly terminal: Terminal;
  /** Of Countersign. */
  readonly version: string;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** Aborted on SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
  /** The current folder, for relative paths. */
  readonly folder: string;
  /** The person at the terminal. */
  readonly requester: Requester;
  readonly openRecords: () => Promise<Records>;
  /** The operator's, where a command names no other folder. */
  readonly policiesFolder: string;
  readonly openRuns: (hooks: RunHooks) => Promise<RunDeps & AsyncDisposable>;
  /** The same for the repository at an address on GitHub, with the App that is configured. */
  readonly openPublishing: (
    address: string,
    hooks: RunHooks,
  ) => Promise<
    PublishingDeps & AsyncDisposable & { readonly repository: { readonly owner: string; readonly name: string } }
  >;
  /** Tries the parts named, each for real. */
  readonly examine: (parts: ReadonlySet<ExaminedPart>, signal: AbortSignal) => Promise<readonly Check[]>;
  /** Starts the service; disposing it hands over what is under way. */
  readonly openService: () => Promise<Service>;
  /** Registers the App; `onReady` gets the address of the form and where it is served. */
  readonly register: (
    request: { readonly publicAddress: string; readonly organization: string | null },
    onReady: (formUrl: string, listening: string) => void,
  ) => Promise<Registration>;
  /** Does the main job on this machine, with the scripted model unless a real one is asked for or set. */
  readonly demo: (request: { readonly isReal: boolean }, onEvent: (event: DemoEvent) => void) => Promise<Demo>;
  /** Measures one row or all and shows their tables: the same as JSON, and whether the figures without time in them hold. */
  readonly bench: (
    request: {
      readonly only: string | null;
      readonly size: "short" | "bench" | "soak";
      readonly show: (table: string) => void;
    },
    signal: AbortSignal,
  ) => Promise<{ readonly json: JsonObject; readonly ok: boolean }>;
  /** Text of each file of `tools_schemas/`, by name. */
  readonly toolSchemas: () => Promise<ReadonlyMap<string, string>>;
  readonly schemasFolder: string;
};

/** Prints one JSON value and a line feed. */
export function printJson(terminal: Terminal, value: JsonObject | readonly JsonObject[]): void {
  terminal.out(`${JSON.stringify(value, null, 2)}\n`);
}
