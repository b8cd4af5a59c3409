import {
  type ActionId,
  CountersignError,
  type LedgerEntry,
  type NewEntry,
  plainEntry,
  type Requester,
} from "../domain/index.ts";
import { readActionEntries, readNonce, sealCommitted } from "../ledger/index.ts";
import type { AnswerDeps } from "./persons-answer.ts";
import { encode } from "./trail.ts";

/** What a person found where they looked for an effect that nothing else could tell of (AUD-65). */
export type PersonsFinding = {
  readonly isApplied: boolean;
  readonly person: Requester;
  /** Free text, sealed. */
  readonly reason: string;
};

/**
 * Brings an action to rest by a person's word (AUD-5): one that was looked for in vain, of a run that no worker has any more. Throws
 * `NOT_FOUND` for no action, `USAGE` for one that needs no such word, `KEYS_UNUSABLE` where its keys were erased.
 */
export async function resolveByPerson(deps: AnswerDeps, actionId: ActionId, finding: PersonsFinding): Promise<void> {
  const entries = await readActionEntries(deps.store, actionId);
  const proposal = entries.at(0);
  const last = entries.findLast(({ state }) => state !== null);
  if (proposal === undefined || last === undefined) {
    throw new CountersignError("NOT_FOUND", `there is no action \`${actionId}\` in the ledger`, { remedy: howToList });
  }
  await requireUnresolved(deps, actionId, last);
  const nonce = await readNonce(deps, actionId);
  if (nonce === null) throw new CountersignError("KEYS_UNUSABLE", `action \`${actionId}\` can't be opened`);
  const reference = Buffer.from(deps.randomBytes(referenceSizeBytes)).toString("hex");
  const { sealed, commitments } = sealCommitted(
    actionId,
    { bytes: nonce, isNew: false },
    { reason: encode(finding.reason), person: encode(JSON.stringify({ reference, ...finding.person })) },
  );
  const { runId, traceId, attempt, id: parentId } = proposal;
  const entry: NewEntry = {
    ...{ ...plainEntry, type: "action", runId, traceId, attempt, actionId, parentId },
    state: "resolved_by_person",
    try: last.try,
    actor: { kind: "person", reference },
    evidence: { applied: finding.isApplied, channel: "terminal", commitments },
  };
  await deps.ledger.append(null, { entries: [entry], sealed });
}

const referenceSizeBytes = 16;
const howToList = "list actions with `countersign audit find`, or those of one run with `countersign audit show <run>`";

/** Nobody decides what a worker may still find out. */
async function requireUnresolved(
  { store }: Pick<AnswerDeps, "store">,
  actionId: ActionId,
  { runId, state }: LedgerEntry,
): Promise<void> {
  if (state !== "reconcile_inconclusive") {
    const message = `action \`${actionId}\` is ${state}: only one that was looked for in vain is resolved by a person`;
    throw new CountersignError("USAGE", message, { remedy: `look at it with \`countersign audit show ${actionId}\`` });
  }
  const run = await store.db
    .selectFrom("runs")
    .select("status")
    .where("run_id", "=", runId ?? ("" as never))
    .executeTakeFirst();
  if (run === undefined || run.status === "completed") return; // no run: it answered a delivery
  throw new CountersignError("USAGE", `run \`${runId}\` has not ended, and may look for it again`, {
    remedy: `wait for its end, or stop it with \`countersign runs cancel ${runId}\``,
  });
}
