import type { ActionId } from "../domain/index.ts";
import type { RunEvent, RunReport } from "../run/index.ts";
import type { ReceivedTrace } from "./span-receiver.ts";

/** What a demonstration asks for. */
export type DemoRequest = {
  /** Null: the scripted model. */
  readonly model: { readonly baseUrl: string; readonly apiKey: string | null; readonly name: string } | null;
  /** Absolute path with which the name of its folder begins. */
  readonly homePrefix: string;
  /** What the App asks for, by the names of GitHub. */
  readonly app: { readonly permissions: Readonly<Record<string, string>>; readonly events: readonly string[] };
  /** Variables that are given to Countersign besides those of the demonstration. */
  readonly environment: Readonly<Record<string, string>>;
};

/** What happens, for whoever watches: a line of the demonstration, or an event of its run. */
export type DemoEvent = { readonly kind: "step"; readonly text: string } | RunEvent;

/** How long a part took. */
export type Timing = { readonly part: string; readonly durationMs: number };

/** What is kept of a demonstration. */
export type KeptRecord = {
  /** Holds the arguments of `publishedBy` as they were hashed; null where there are none. */
  readonly argumentsFile: string | null;
  readonly sizeBytes: number;
};

/** A demonstration whose run has ended. Everything is up until it is disposed; then nothing of it is left, unless kept. */
export type Demo = AsyncDisposable & {
  readonly report: RunReport;
  /** As plain git fetched the head from the local GitHub; null where no pull request was opened. */
  readonly isHeadAsTested: boolean | null;
  /** Verified anew, from what is stored, when everything had ended. */
  readonly ledger: { readonly size: number; readonly rootHash: string; readonly verified: boolean };
  readonly trace: ReceivedTrace;
  readonly timings: readonly Timing[];
  /** Pull request opened, its head as tested, its tests passed, ledger verified. */
  readonly hasSucceeded: boolean;
  readonly home: string;
  /** What can be looked at while it is up. */
  readonly places: readonly { readonly name: string; readonly address: string }[];
  /** Wrote last what was published; null where nothing was. */
  readonly publishedBy: ActionId | null;
  /** The service folder outlives the demonstration. */
  keep(): Promise<KeptRecord>;
};
