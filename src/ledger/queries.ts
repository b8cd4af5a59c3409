import type { Selectable } from "kysely";
import { type ActionId, type ApprovalId, CountersignError, type LedgerEntry, type RunId } from "../domain/index.ts";
import type { Database, Store } from "../store/index.ts";
import { type AuditedAction, auditedAction } from "./audited-action.ts";
import type { Keys } from "./keys.ts";
import { readBody } from "./read-body.ts";

/** What `audit show` prints of a run, or of one action of it. */
export type AuditedRun = { readonly run_id: string | null; readonly actions: readonly AuditedAction[] };

/** A run as `runs list --json` prints it. */
export type ListedRun = {
  readonly run_id: string;
  readonly repository: string;
  readonly issue: number | null;
  readonly status: string;
  readonly conclusion: string | null;
  readonly attempt: number;
  readonly started_at: string;
  /** What the run opened on GitHub; null where nothing. */
  readonly pull_request: { readonly number: number; readonly url: string } | null;
};

/** A sealed text, opened. */
export type OpenedText = {
  readonly actionId: ActionId | null;
  readonly field: string;
  /** Of the entry that commits to it. */
  readonly index: number | null;
  /** Null where its key was erased. */
  readonly bytes: Uint8Array | null;
};

/** All actions of a run in the order of their proposal; null where the ledger has no such run. */
export async function showRun(store: Store, runId: RunId): Promise<AuditedRun | null> {
  const entries = await readRunEntries(store, runId);
  if (entries.length === 0) return null;
  const byAction = Map.groupBy(entries, ({ actionId }) => actionId);
  byAction.delete(null);
  return { run_id: runId, actions: [...byAction.values()].map(auditedAction) };
}

/** One action; null where the ledger has no such action. */
export async function showAction(store: Store, actionId: ActionId): Promise<AuditedRun | null> {
  const entries = await readActionEntries(store, actionId);
  const [first] = entries;
  return first === undefined ? null : { run_id: first.runId, actions: [auditedAction(entries)] };
}

/** The action that an approval was asked for; null where there was no such question. */
export async function showApproval(store: Store, approvalId: string): Promise<AuditedRun | null> {
  const row = await store.db
    .selectFrom("approvals")
    .select("action_id")
    .where("approval_id", "=", approvalId as ApprovalId)
    .executeTakeFirst();
  return row === undefined ? null : showAction(store, row.action_id);
}

/** The entries of one action in the order of the log: for recovery, which goes on from the last one. */
export async function readActionEntries(store: Pick<Store, "db">, actionId: ActionId): Promise<readonly LedgerEntry[]> {
  const rows = await store.db
    .selectFrom("ledger_entries")
    .select(["body", "index"])
    .where("action_id", "=", actionId)
    .orderBy("index")
    .execute();
  return rows.map(entryOf);
}

/** All entries of one run in order: turns, phases and actions. */
export async function readRunEntries(store: Store, runId: RunId): Promise<readonly LedgerEntry[]> {
  const rows = await store.db
    .selectFrom("ledger_entries")
    .select(["body", "index"])
    .where("run_id", "=", runId)
    .orderBy("index")
    .execute();
  return rows.map(entryOf);
}

/** What the entry says is read from the hashed bytes, never from the columns beside them. */
export function entryOf({ body, index }: { readonly body: Uint8Array; readonly index: number }): LedgerEntry {
  const read = readBody(body);
  if (read.kind === "entry") return read.entry;
  throw new CountersignError("LEDGER_UNAVAILABLE", `entry \`${index}\` of the ledger can't be read`, {
    remedy: "the stored entry was changed: run `countersign audit verify`",
    details: { index, code: read.kind },
  });
}

/** Runs, newest first. `limit` of them at most. */
export async function listRuns(store: Store, limit: number): Promise<readonly ListedRun[]> {
  const rows = await store.db.selectFrom("runs").selectAll().orderBy("started_at", "desc").limit(limit).execute();
  return rows.map((row) => ({
    run_id: row.run_id,
    repository: row.repository_name,
    issue: row.issue_number,
    status: row.status,
    conclusion: row.conclusion,
    attempt: row.attempt,
    started_at: row.started_at,
    pull_request:
      row.pull_request_number === null || row.pull_request_url === null
        ? null
        : { number: row.pull_request_number, url: row.pull_request_url },
  }));
}

type Deps = { readonly store: Pick<Store, "db">; readonly keys: Keys };

/** The sealed texts of an action, opened, oldest first; not the nonce. Throws `KEYS_UNUSABLE` where one was changed. */
export async function readActionTexts(deps: Deps, actionId: ActionId): Promise<readonly OpenedText[]> {
  const rows = await deps.store.db
    .selectFrom("sealed")
    .selectAll()
    .where("action_id", "=", actionId)
    .where("field", "!=", "nonce")
    .orderBy("id")
    .execute();
  return Promise.all(rows.map((row) => openText(deps.keys, row)));
}

/** Advice by policy id, from the sealed text `advice` of a decision; none where it was erased. */
export function adviceOf({ bytes }: Pick<OpenedText, "bytes">): Readonly<Record<string, string>> {
  return bytes === null ? {} : (JSON.parse(new TextDecoder().decode(bytes)) as Readonly<Record<string, string>>);
}

/** The sealed texts of a run that belong to no action, of one field, in the order of the log. */
export async function readRunTexts(deps: Deps, runId: RunId, field: string): Promise<readonly OpenedText[]> {
  return (await readField(deps, runId, field)).filter(({ actionId }) => actionId === null);
}

/** The change sets recorded with the outcomes of a run's actions, in the order recorded; without those erased. */
export async function readRunChangeSets(
  deps: Deps,
  runId: RunId,
): Promise<readonly { readonly actionId: ActionId; readonly index: number | null; readonly bytes: Uint8Array }[]> {
  const texts = await readField(deps, runId, "change_set");
  return texts.flatMap(({ actionId, index, bytes }) =>
    actionId === null || bytes === null ? [] : [{ actionId, index, bytes }],
  );
}

async function readField(deps: Deps, runId: RunId, field: string): Promise<readonly OpenedText[]> {
  const rows = await deps.store.db
    .selectFrom("sealed")
    .selectAll()
    .where("run_id", "=", runId)
    .where("field", "=", field)
    .orderBy("id")
    .execute();
  return Promise.all(rows.map((row) => openText(deps.keys, row)));
}

/** The nonce of an action's commitments, for whoever takes it up again; null where there is none or its key was erased. */
export async function readNonce(deps: Deps, actionId: ActionId): Promise<Uint8Array | null> {
  const row = await deps.store.db
    .selectFrom("sealed")
    .selectAll()
    .where("action_id", "=", actionId)
    .where("field", "=", "nonce")
    .executeTakeFirst();
  return row === undefined ? null : (await openText(deps.keys, row)).bytes;
}

export async function openText(keys: Keys, row: Selectable<Database["sealed"]>): Promise<OpenedText> {
  const place = { runId: row.run_id, actionId: row.action_id, field: row.field };
  const sealed = { keyId: row.key_id, nonce: row.nonce, ciphertext: row.ciphertext };
  const bytes = await keys.open(place, sealed);
  return { actionId: row.action_id, field: row.field, index: row.entry_index, bytes };
}
