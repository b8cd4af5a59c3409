import type { JsonObject } from "../domain/index.ts";
import type { AppFacts, RepositoryPlace } from "./facts.ts";
import type { GithubReader } from "./github.ts";
import type { Read } from "./reader.ts";
import type { Send } from "./send.ts";
import type { Permissions } from "./tokens.ts";
import type { GithubTool, GithubWrite, WriteOf } from "./writes.ts";

/** What a row works with. `send` sends one request of the repository with the row's permissions, never a second time. */
export type WriteContext = {
  readonly place: RepositoryPlace;
  readonly reader: GithubReader;
  readonly read: Read;
  readonly send: Send;
  readonly app: (signal: AbortSignal) => Promise<AppFacts>;
  readonly appId: number;
  /** GraphQL beside the REST API, for the one thing that REST can't. */
  readonly graphqlUrl: string;
  readonly markerKey: Uint8Array;
};

/** What one look told; `saw` is safe to record. */
export type Seen =
  | { readonly kind: "applied"; readonly result: JsonObject; readonly saw: JsonObject }
  | { readonly kind: "not_applied" | "inconclusive"; readonly saw: JsonObject };

/** All that a write must declare (AUD-61). */
export type WriteRow<Write extends GithubWrite> = {
  /** By what the effect is found again, besides the repository. */
  readonly naturalKey: (write: Write) => string;
  readonly precondition: string;
  /** How GitHub is looked at after a lost answer. */
  readonly recipe: string;
  /** The least that a token for the sending must hold (SEC-118). */
  readonly permissions: Permissions;
  /** Gives what stands on GitHub now; throws where nothing was done or the answer was lost: the error tells which. */
  readonly send: (context: WriteContext, write: Write, signal: AbortSignal) => Promise<JsonObject>;
  /** One look, with reads alone. */
  readonly look: (context: WriteContext, write: Write, sinceIso: string, signal: AbortSignal) => Promise<Seen>;
};

export type WriteTable = { readonly [Tool in GithubTool]: WriteRow<WriteOf<Tool>> };
