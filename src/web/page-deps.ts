import type { Clock, Redact } from "../domain/index.ts";
import type { Keys } from "../ledger/index.ts";
import type { Store } from "../store/index.ts";

/** What the pages read from, and what keeps secrets out of them. */
export type PageDeps = {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly redact: Redact;
  /** One line about a page that could not be made; never a text of it. */
  readonly onTrouble: (line: string, error: unknown) => void;
};
