import type { ExpressionBuilder } from "kysely";
import type { ActionId, JsonObject, LedgerEntry } from "../domain/index.ts";
import type { Database, Store } from "../store/index.ts";
import type { Keys } from "./keys.ts";
import { entryOf, openText } from "./queries.ts";

/** A decision on record with the requests that it was about, as canonical JSON. */
export type RecordedDecision = {
  /** The decision's own, or that of a person's answer: whether they might give it was decided with it (AUD-37). */
  readonly entry: LedgerEntry;
  readonly decisionId: string;
  /** What the decision says. */
  readonly evidence: JsonObject;
  /** Null where their key was erased. */
  readonly requests: Uint8Array | null;
};

type Deps = { readonly store: Store; readonly keys: Keys };

const pageSize = 500;

const mayHoldDecision = ({ eb, or }: ExpressionBuilder<Database, "ledger_entries">) =>
  or([eb("type", "=", "decision"), eb("state", "in", ["approval_granted", "approval_refused"])]);

/** The decisions made since a time, oldest first, read in pages. Throws `KEYS_UNUSABLE` where a sealed text was changed. */
export async function* readDecisionsSince({ store, keys }: Deps, sinceMs: number): AsyncGenerator<RecordedDecision> {
  for (let after = -1; ; ) {
    const rows = await store.db
      .selectFrom("ledger_entries")
      .select(["body", "index"])
      .where(mayHoldDecision)
      .where("time", ">=", new Date(sinceMs).toISOString())
      .where("index", ">", after)
      .orderBy("index")
      .limit(pageSize)
      .execute();
    yield* await withRequests({ store, keys }, rows.map(entryOf));
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageSize) return;
    after = last.index;
  }
}

/** The decisions on one action, oldest first; none where it was decided on by nobody. */
export async function readDecisionsOn(deps: Deps, actionId: ActionId): Promise<readonly RecordedDecision[]> {
  const rows = await deps.store.db
    .selectFrom("ledger_entries")
    .select(["body", "index"])
    .where("action_id", "=", actionId)
    .where(mayHoldDecision)
    .orderBy("index")
    .execute();
  return withRequests(deps, rows.map(entryOf));
}

/** What an entry says of a decision; null where it holds none, as an answer on the terminal: of that no policy is asked. */
function decisionIn({
  type,
  decisionId,
  evidence,
}: LedgerEntry): Pick<RecordedDecision, "decisionId" | "evidence"> | null {
  if (type === "decision") return { decisionId: decisionId ?? "", evidence };
  const policy = evidence["policy"] as JsonObject | undefined;
  return policy === undefined ? null : { decisionId: String(policy["decisionId"]), evidence: policy };
}

async function withRequests(
  { store, keys }: Deps,
  entries: readonly LedgerEntry[],
): Promise<readonly RecordedDecision[]> {
  if (entries.length === 0) return [];
  const indexes = entries.map(({ index }) => index);
  const rows = await store.db
    .selectFrom("sealed")
    .selectAll()
    .where("field", "in", ["request", "approve_request"])
    .where("entry_index", "in", indexes)
    .execute();
  const byIndex = new Map(rows.map((row) => [row.entry_index, row]));
  const decisions = entries.map(async (entry) => {
    const decision = decisionIn(entry);
    if (decision === null) return [];
    const row = byIndex.get(entry.index);
    const requests = row === undefined ? null : (await openText(keys, row)).bytes;
    return [{ entry, ...decision, requests }];
  });
  return (await Promise.all(decisions)).flat();
}

/** File name to text of a policy set that decided something (AUD-25); null where none of that digest is kept. */
export async function readPolicySet(
  { store }: Pick<Deps, "store">,
  digest: string,
): Promise<ReadonlyMap<string, string> | null> {
  const row = await store.db
    .selectFrom("policy_sets")
    .select("content")
    .where("digest", "=", digest)
    .executeTakeFirst();
  return row === undefined ? null : new Map(Object.entries(row.content as Readonly<Record<string, string>>));
}
