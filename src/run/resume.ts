import type { Message, StoredResponse, Turn } from "../agent/index.ts";
import type { ActionId, ChangeSet, LedgerEntry, RunId } from "../domain/index.ts";
import { openSealedChangeSet, readStoredQuestion } from "../gateway/index.ts";
import { type OpenedText, readRunChangeSets, readRunEntries, readRunTexts } from "../ledger/index.ts";
import { fileTools } from "./decide-paths.ts";
import type { RunDeps, RunPhase } from "./run-deps.ts";
import type { TestRun } from "./run-report.ts";

/** What a run keeps beside its turns while nobody works on it, sealed with the entry that it waits. */
export type KeptWhileWaiting = {
  /** In which a person was asked. The tests before are made again where it is theirs. */
  readonly phase: RunPhase;
  readonly before: TestRun | null;
  /** Of the wall clock, which stands still while the run waits (GH-54). Milliseconds. */
  readonly elapsedMs: number;
  /** What its commands had printed (SEC-57). */
  readonly outputBytes: number;
};

/** Where a run that has waited for a person is gone on with: all of it from the record (AUD-66). */
export type Resumed = {
  readonly turns: readonly Turn[];
  /** The answer of the model whose calls were under way. Null where the last turn is whole. */
  readonly pending: StoredResponse | null;
  /** What the model was told first, so that the prefix stays the same bytes (ACI-85); null where it is not on record. */
  readonly opening: readonly Message[] | null;
  /** The actions of that answer's calls, by `placeOf`: asked again, each goes on from where it was. */
  readonly begun: ReadonlyMap<string, ActionId>;
  readonly recorded: readonly { readonly actionId: ActionId; readonly changeSet: ChangeSet }[];
  readonly approved: ReadonlySet<ActionId>;
  /** Files as the run had last read or written them when it asked. */
  readonly remembered: readonly { readonly path: string; readonly sha256: string }[];
  /** Null where its worker was lost before the run could wait. */
  readonly kept: KeptWhileWaiting | null;
};

/** The actions of a run about which a person was asked, oldest first. One without any begins anew from its base. */
export async function askedAbout({ store }: Pick<RunDeps, "store">, runId: RunId): Promise<readonly ActionId[]> {
  const rows = await store.db
    .selectFrom("approvals")
    .select("action_id as actionId")
    .where("run_id", "=", runId)
    .orderBy("action_id")
    .execute();
  return rows.map(({ actionId }) => actionId);
}

export async function readResumed(deps: RunDeps, runId: RunId): Promise<Resumed> {
  const entries = await readRunEntries(deps.store, runId);
  const start = startOf(entries);
  const since = <Text extends { readonly index: number | null }>(texts: readonly Text[]): readonly Text[] =>
    texts.filter(({ index }) => index !== null && index >= start);
  const turns = since(await readRunTexts(deps, runId, "turn")).map((text) => asJson<Turn>(text));
  const pending = await pendingOf(deps, runId, { entries, turns });
  const opening = (await readRunTexts(deps, runId, "opening")).at(-1);
  const kept = since(await readRunTexts(deps, runId, "while_waiting")).at(-1);
  const recorded = since(await readRunChangeSets(deps, runId));
  return {
    turns,
    pending,
    opening: opening?.bytes == null ? null : asJson<readonly Message[]>(opening),
    begun: pending === null ? new Map() : begunIn(entries, start, pending.turn),
    recorded: recorded.map(({ actionId, bytes }) => ({ actionId, changeSet: openSealedChangeSet(bytes) })),
    approved: await approvedOf(deps, runId),
    remembered: await rememberedOf(deps, await askedAbout(deps, runId)),
    kept: kept === undefined ? null : asJson<KeptWhileWaiting>(kept),
  };
}

/** Where the present conversation begins: what an earlier worker did, from which nothing was gone on with, does not count. */
function startOf(entries: readonly LedgerEntry[]): number {
  return entries.findLast(({ type, evidence }) => type === "turn" && isAnswer(evidence, 1))?.index ?? 0;
}

const isAnswer = (evidence: LedgerEntry["evidence"], turn: number): boolean =>
  evidence["answered"] === true && evidence["turn"] === turn;

/** The newest stored answer, unless its turn came to an end. */
async function pendingOf(
  deps: RunDeps,
  runId: RunId,
  { entries, turns }: { readonly entries: readonly LedgerEntry[]; readonly turns: readonly Turn[] },
): Promise<StoredResponse | null> {
  const answered = entries.findLast(({ type, evidence }) => type === "turn" && evidence["answered"] === true);
  const turn = Number(answered?.evidence["turn"]);
  const last = turns.at(-1);
  if (answered === undefined || (last !== undefined && last.number >= turn && last.kind !== "waiting")) return null;
  const text = (await readRunTexts(deps, runId, "response")).find(({ index }) => index === answered.index);
  return text?.bytes == null ? null : { turn, response: asJson<StoredResponse["response"]>(text) };
}

/** Where a call stands in the conversation. */
export const placeOf = ({ turn, ordinal }: { readonly turn: number; readonly ordinal: number }): string =>
  `${turn}:${ordinal}`;

/** What was cut off before it was decided is no action to go on with: its call is proposed anew. */
function begunIn(entries: readonly LedgerEntry[], start: number, turn: number): ReadonlyMap<string, ActionId> {
  const begun = new Map<string, ActionId>();
  const cutOff = new Set(entries.flatMap(({ state, actionId }) => (state === "cancelled" ? (actionId ?? []) : [])));
  for (const { state, index, actionId, evidence } of entries) {
    if (state !== "proposed" || actionId === null || index < start || evidence["turn"] !== turn) continue;
    if (!cutOff.has(actionId)) begun.set(placeOf({ turn, ordinal: Number(evidence["ordinal"]) }), actionId);
  }
  return begun;
}

/** File actions that were carried out with a person's yes: by the rows that are written with the authorization (AUD-36). */
async function approvedOf({ store }: RunDeps, runId: RunId): Promise<ReadonlySet<ActionId>> {
  const rows = await store.db
    .selectFrom("approval_uses")
    .innerJoin("approvals", "approvals.approval_id", "approval_uses.approval_id")
    .innerJoin("actions", "actions.action_id", "approvals.action_id")
    .select("approvals.action_id as actionId")
    .where("approvals.run_id", "=", runId)
    .where("actions.tool", "in", fileTools)
    .execute();
  return new Set(rows.map(({ actionId }) => actionId));
}

/** Later questions know more; each is asked with all that was known by then. */
async function rememberedOf(deps: RunDeps, asked: readonly ActionId[]): Promise<Resumed["remembered"]> {
  const all = await Promise.all(asked.map((actionId) => readStoredQuestion(deps, actionId)));
  return all.flatMap(({ remembered }) => remembered);
}

const asJson = <Value>({ bytes }: Pick<OpenedText, "bytes">): Value =>
  JSON.parse(new TextDecoder().decode(bytes ?? new Uint8Array())) as Value;
