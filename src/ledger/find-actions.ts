import { sql } from "kysely";
import {
  type ActionId,
  argumentsDigest,
  fieldCommitment,
  isCountersignError,
  type JsonObject,
  type LedgerEntry,
  type RunId,
  type TraceId,
} from "../domain/index.ts";
import type { Store } from "../store/index.ts";
import { type AuditedAction, auditedAction } from "./audited-action.ts";
import type { Keys } from "./keys.ts";
import { entryOf, readNonce } from "./queries.ts";

/** What an action must agree with; null asks nothing. */
export type ActionFilter = {
  readonly runId: RunId | null;
  readonly traceId: TraceId | null;
  /** As in the audit event: `system`, `run:<id>`, `person:<reference>`; also `run` for any model's proposal. */
  readonly actor: string | null;
  readonly tool: string | null;
  /** Proposed at this time or later, in milliseconds. */
  readonly sinceMs: number | null;
  /** Canonical bytes: the actions with exactly these arguments. */
  readonly canonical: Uint8Array | null;
};

export type FoundAction = AuditedAction & { readonly run_id: string | null };

export type FoundActions = {
  /** Newest first. */
  readonly actions: readonly FoundAction[];
  /** Whether there are more than were asked for. */
  readonly isCut: boolean;
  /** Runs in range whose arguments nobody can test any more: their keys are erased. */
  readonly untestable: readonly RunId[];
  /** Actions whose digest agrees and whose commitment does not: the record was changed. */
  readonly contradictory: readonly ActionId[];
};

type Deps = { readonly store: Store; readonly keys: Keys };
type Candidate = { readonly actionId: ActionId; readonly runId: RunId | null };

/** The actions on record that agree with all of the filter, newest first, `limit` at most (AUD-17). */
export async function findActions(deps: Deps, filter: ActionFilter, limit: number): Promise<FoundActions> {
  const { canonical } = filter;
  if (canonical === null) {
    const candidates = await readCandidates(deps.store, filter, null, limit + 1);
    const actions = await readFound(deps.store, candidates.slice(0, limit));
    return { actions, isCut: candidates.length > limit, untestable: [], contradictory: [] };
  }
  const { digests, untestable } = await digestsInRange(deps, filter, canonical);
  const candidates = await readCandidates(deps.store, filter, digests, limit + 1);
  const found = await readFound(deps.store, candidates.slice(0, limit));
  const checked = await Promise.all(found.map((action) => checkArguments(deps, action, canonical)));
  return {
    actions: found.filter((_, at) => checked[at] === "confirmed"),
    isCut: candidates.length > limit,
    untestable: [
      ...untestable,
      ...found.flatMap(({ run_id }, at) => (checked[at] === "erased" ? [run_id as RunId] : [])),
    ],
    contradictory: found.flatMap(({ action_id }, at) =>
      checked[at] === "contradicted" ? [action_id as ActionId] : [],
    ),
  };
}

/** What the arguments' digest would be in each run that the filter leaves. */
async function digestsInRange(
  { store, keys }: Deps,
  filter: ActionFilter,
  canonical: Uint8Array,
): Promise<{ readonly digests: readonly string[]; readonly untestable: readonly RunId[] }> {
  const candidates = await readCandidates(store, filter, null, null);
  const runIds = new Set(candidates.flatMap(({ runId }) => (runId === null ? [] : [runId])));
  const digests: string[] = [];
  const untestable: RunId[] = [];
  for (const runId of runIds) {
    const runKey = await keys.runKey(runId).catch((error: unknown) => {
      if (isCountersignError(error, "KEYS_UNUSABLE")) return null;
      throw error;
    });
    if (runKey === null) untestable.push(runId);
    else digests.push(argumentsDigest(runKey, canonical));
  }
  return { digests, untestable };
}

/** By the search columns; what they lead to is read from the hashed bytes. `digests`: one of them stands in an entry. */
async function readCandidates(
  { db }: Store,
  { runId, traceId, actor, tool, sinceMs }: ActionFilter,
  digests: readonly string[] | null,
  limit: number | null,
): Promise<readonly Candidate[]> {
  const since = sinceMs === null ? null : new Date(sinceMs).toISOString();
  const { kind, name } = actorParts(actor);
  const { rows } = await sql<Candidate>`
    select a.action_id as "actionId", a.run_id as "runId"
    from actions a join ledger_entries e on e.index = a.first_index
    cross join lateral (select convert_from(e.body, 'UTF8')::json -> 'actor' as actor) as first
    where (${runId}::uuid is null or a.run_id = ${runId}::uuid)
      and (${traceId}::text is null or e.trace_id = ${traceId}::text)
      and (${tool}::text is null or a.tool = ${tool}::text)
      and (${since}::timestamptz is null or a.proposed_at >= ${since}::timestamptz)
      and (${kind}::text is null or first.actor ->> 'kind' = ${kind}::text)
      and (${name}::text is null or ${name}::text in (first.actor ->> 'runId', first.actor ->> 'reference'))
      and (${digests}::text[] is null or exists (
        select from ledger_entries m where m.action_id = a.action_id and m.type = 'action'
          and convert_from(m.body, 'UTF8')::json -> 'evidence' ->> 'argumentsDigest' = any(${digests}::text[])))
    order by a.first_index desc limit ${limit}::bigint`.execute(db);
  return rows;
}

function actorParts(actor: string | null): { readonly kind: string | null; readonly name: string | null } {
  const [kind = null, name = null] = actor?.split(":", 2) ?? [];
  return { kind, name };
}

async function readFound(store: Store, candidates: readonly Candidate[]): Promise<readonly FoundAction[]> {
  const entries = await readEntries(
    store,
    candidates.map(({ actionId }) => actionId),
  );
  return candidates.map(({ actionId, runId }) => ({ run_id: runId, ...auditedAction(entries.get(actionId) ?? []) }));
}

async function readEntries(
  store: Store,
  actionIds: readonly ActionId[],
): Promise<ReadonlyMap<ActionId | null, readonly LedgerEntry[]>> {
  if (actionIds.length === 0) return new Map();
  const rows = await store.db
    .selectFrom("ledger_entries")
    .select(["body", "index"])
    .where("action_id", "in", actionIds)
    .orderBy("index")
    .execute();
  return Map.groupBy(rows.map(entryOf), ({ actionId }) => actionId);
}

/** The digest only says where to look: the commitment in the log is what binds (AUD-17). */
async function checkArguments(
  deps: Deps,
  action: FoundAction,
  canonical: Uint8Array,
): Promise<"confirmed" | "contradicted" | "erased"> {
  const nonce = await readNonce(deps, action.action_id as ActionId);
  if (nonce === null) return "erased";
  const expected = fieldCommitment("arguments", nonce, canonical);
  const committed = [...action.decisions, ...action.states].flatMap(({ evidence }) => {
    const { commitments } = evidence;
    const { arguments: sealed } = (commitments ?? {}) as JsonObject;
    return [sealed, evidence["argumentsCommitment"]].filter((value) => typeof value === "string");
  });
  return committed.length > 0 && committed.every((value) => value === expected) ? "confirmed" : "contradicted";
}
