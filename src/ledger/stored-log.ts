import type { ActionId, LedgerEntry, RunId } from "../domain/index.ts";
import type { TreeNode } from "./merkle.ts";

/** Columns beside the body that repeat what it says, for search (AUD-41). */
export const copiedColumns = [
  "id",
  "type",
  "runId",
  "runSeq",
  "actionId",
  "state",
  "attempt",
  "try",
  "decisionId",
  "deliveryId",
  "parentId",
  "traceId",
  "time",
] as const satisfies readonly (keyof LedgerEntry)[];

/** One row of the log as it lies in the database. */
export type StoredEntry = {
  readonly index: number;
  readonly body: Uint8Array;
  readonly leafHash: Uint8Array;
  readonly fencingToken: number | null;
  readonly copies: Readonly<Record<(typeof copiedColumns)[number], string | number | null>>;
};

/** One sealed text as it lies in the database. */
export type StoredText = {
  readonly entryIndex: number | null;
  readonly runId: RunId;
  readonly actionId: ActionId | null;
  readonly field: string;
  readonly keyId: string;
  readonly nonce: Uint8Array;
  readonly ciphertext: Uint8Array;
  readonly commitment: string | null;
  readonly createdAt: string;
};

/** Entries in the order of their index, with the subtrees that they complete and the texts sealed with them. */
export type StoredPage = {
  readonly entries: readonly StoredEntry[];
  readonly nodes: readonly TreeNode[];
  readonly texts: readonly StoredText[];
};

/** Tables that hold nothing but what follows from the log, and the columns that name one row. */
export const derivedTables = {
  actions: ["action_id"],
  decisions: ["decision_id"],
  authorizations: ["action_id"],
  intents: ["action_id"],
  starts: ["action_id", "try"],
  run_heads: ["run_id"],
} as const;

export type DerivedTable = keyof typeof derivedTables;
export type DerivedRow = {
  readonly table: DerivedTable;
  readonly columns: Readonly<Record<string, string | number | null | readonly string[]>>;
};

/** A log as stored: from the database or from an export. The pages end with one for what belongs to no entry. */
export type StoredLog = {
  readonly head: { readonly origin: string; readonly size: number } | null;
  readonly pages: AsyncIterable<StoredPage>;
  /** Read after the pages; null where there is none, as in an export. */
  readonly derived: AsyncIterable<DerivedRow> | null;
};

/** A key that names one row of all the derived tables. */
export const derivedKey = ({ table, columns }: DerivedRow): string =>
  [table, ...derivedTables[table].map((column) => String(columns[column]))].join("/");
