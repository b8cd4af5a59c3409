import type { JsonObject } from "../domain/index.ts";
import type { AppFacts, RepositoryPlace } from "./facts.ts";
import type { GithubReader } from "./github.ts";
import type { Send } from "./send.ts";
import type { Permissions } from "./tokens.ts";
import type { Found, GithubTool, GithubWrite, WriteOf } from "./writes.ts";

/** What a row works with. `send` sends one request with the row's permissions and never a second time. */
export type WriteContext = {
  readonly place: RepositoryPlace;
  readonly reader: GithubReader;
  readonly send: Send;
  readonly app: (signal: AbortSignal) => Promise<AppFacts>;
  readonly appId: number;
  readonly markerKey: Uint8Array;
};

/** What stands on GitHub after a sending. */
export type Applied = Extract<Found, { readonly kind: "applied" }>;

/** All that a write must declare (AUD-61). */
export type WriteRow<Write extends GithubWrite> = {
  /** By what the effect is found again, besides the repository. */
  readonly naturalKey: (write: Write) => string;
  readonly precondition: string;
  /** How GitHub is looked at after a lost answer. */
  readonly recipe: string;
  /** The least that a token for the sending must hold (SEC-118). */
  readonly permissions: Permissions;
  /** Throws where nothing was done or the answer was lost; the error tells which. */
  readonly send: (context: WriteContext, write: Write, signal: AbortSignal) => Promise<Applied>;
  /** One look. */
  readonly look: (context: WriteContext, write: Write, sinceIso: string, signal: AbortSignal) => Promise<Found>;
};

export type WriteTable = { readonly [Tool in GithubTool]: WriteRow<WriteOf<Tool>> };

export const applied = (result: JsonObject, evidence: JsonObject): Applied => ({ kind: "applied", result, evidence });
