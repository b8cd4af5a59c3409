import {
  type DeliveryAnswer,
  type DeliveryCode,
  type DeliveryResult,
  type JsonObject,
  type NewEntry,
  plainEntry,
  type RunId,
} from "../domain/index.ts";
import type { Transaction } from "../store/index.ts";
import type { AcceptDeps } from "./intake-deps.ts";
import type { Reading, SignedDelivery, StopMark } from "./reading.ts";

/** What became of a delivery: `code` says why. `runId`: the run made, or the live one in the way. */
export type Outcome = {
  readonly result: DeliveryResult;
  readonly code: DeliveryCode;
  readonly runId: RunId | null;
};

/** An outcome that starts nothing, with what its row and its entry say besides. */
export type Settlement = Outcome & {
  readonly answer: DeliveryAnswer | null;
  readonly detail: JsonObject;
  /** Null where nothing was asked: such a delivery claims no key, so that it can swallow nothing. */
  readonly businessKey: string | null;
  /** Of a stop: a trigger that happened before it starts nothing, whichever of the two is stored first. */
  readonly stop?: StopMark;
};

/** The delivery or its content is known already: the transaction is undone. */
export class KnownDelivery extends Error {
  readonly code: "duplicate_delivery" | "duplicate_content";

  constructor(code: KnownDelivery["code"]) {
    super("the delivery is known");
    this.code = code;
  }
}

/**
 * Stores a delivery that starts nothing: one entry, one row, one job where somebody is to be told. `settlement.confirm`
 * looks once more in the transaction whether it is still so, and throws where it is not.
 */
export function recordDelivery(
  deps: AcceptDeps,
  delivery: SignedDelivery,
  reading: Reading,
  settlement: Settlement & { readonly confirm?: (tx: Transaction) => Promise<void> },
): Promise<Outcome> {
  const entry = deliveryEntry(delivery, reading, settlement);
  return recordOrKnown(deps, delivery, reading, async () => {
    await deps.ledger.append(null, { entries: [entry], sealed: [] }, async (tx) => {
      await claimDelivery(deps, tx, { delivery, reading, settlement });
      await settlement.confirm?.(tx);
      if (settlement.answer !== null) await deps.queue.enqueue(tx, "answer", { deliveryId: delivery.deliveryId });
    });
    const { result, code, runId } = settlement;
    return { result, code, runId };
  });
}

/** Does the work; where it finds the delivery known, that is recorded and nothing else is done (AUD-67). */
export async function recordOrKnown(
  deps: AcceptDeps,
  delivery: SignedDelivery,
  reading: Reading,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof KnownDelivery)) throw error;
    return recordKnown(deps, delivery, reading, error.code);
  }
}

/** Known by its id: an entry alone. By its content: its id is stored too, so that nobody asks for it again (GH-32). */
export async function recordKnown(
  deps: AcceptDeps,
  delivery: SignedDelivery,
  reading: Reading,
  code: KnownDelivery["code"],
): Promise<Outcome> {
  const outcome = { result: "ignored", code, runId: null } as const;
  const settlement = { ...outcome, answer: null, detail: {}, businessKey: null };
  if (code === "duplicate_content") return recordDelivery(deps, delivery, reading, settlement);
  await deps.ledger.append(null, { entries: [deliveryEntry(delivery, reading, settlement)], sealed: [] });
  return outcome;
}

/** Which key of the delivery is stored already, or null: asked before anything else, so that a repetition is cheap. */
export function knownAs(
  deps: AcceptDeps,
  { deliveryId }: SignedDelivery,
  businessKey: string | null,
): Promise<KnownDelivery["code"] | null> {
  return findKnown(deps.store.db, deliveryId, businessKey);
}

async function findKnown(
  db: Pick<Transaction, "selectFrom">,
  deliveryId: SignedDelivery["deliveryId"],
  businessKey: string | null,
): Promise<KnownDelivery["code"] | null> {
  const rows = await db
    .selectFrom("deliveries")
    .select("delivery_id")
    .where((eb) => {
      const sameId = eb("delivery_id", "=", deliveryId);
      return businessKey === null ? sameId : sameId.or("business_key", "=", businessKey);
    })
    .execute();
  if (rows.length === 0) return null;
  return rows.some((row) => row.delivery_id === deliveryId) ? "duplicate_delivery" : "duplicate_content";
}

type Claim = { readonly delivery: SignedDelivery; readonly reading: Reading; readonly settlement: Settlement };

/** Claims both keys in the transaction, or throws `KnownDelivery`, which undoes it. */
export async function claimDelivery(
  deps: Pick<AcceptDeps, "clock">,
  tx: Transaction,
  { delivery, reading, settlement }: Claim,
): Promise<void> {
  const made = await tx
    .insertInto("deliveries")
    .values({
      delivery_id: delivery.deliveryId,
      business_key: settlement.businessKey,
      received_at: new Date(deps.clock()).toISOString(),
      event: reading.event,
      result: settlement.result,
      code: settlement.code,
      answer: settlement.answer,
      run_id: settlement.runId,
      detail: JSON.stringify(settlement.detail),
      ...placeOf(reading),
      ...stopOf(settlement),
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (made.numInsertedOrUpdatedRows === 1n) return;
  const known = await findKnown(tx, delivery.deliveryId, settlement.businessKey);
  throw new KnownDelivery(known ?? "duplicate_delivery");
}

function stopOf({ stop }: Settlement) {
  if (stop === undefined) return {};
  const { scope, at } = stop;
  const ids = scope.kind === "repositories" ? JSON.stringify(scope.ids.map(String)) : null;
  return { stop_at: at, stop_repository_ids: ids };
}

function placeOf(reading: Reading) {
  if (reading.kind === "ask") {
    return {
      installation_id: reading.installationId,
      repository_id: String(reading.repository.id),
      item_number: reading.item.number,
      comment_id: reading.commentId,
      sender_id: String(reading.sender.id),
    };
  }
  const nowhere = { installation_id: null, repository_id: null, item_number: null, comment_id: null };
  if (reading.kind === "ignored") return { ...nowhere, sender_id: null };
  const { scope, sender } = reading;
  const ofItem = scope.kind === "item" ? { repository_id: String(scope.repositoryId), item_number: scope.number } : {};
  const ofInstallation = scope.kind === "installation" ? { installation_id: scope.id } : {};
  return { ...nowhere, ...ofItem, ...ofInstallation, sender_id: String(sender.id) };
}

function deliveryEntry(delivery: SignedDelivery, reading: Reading, settlement: Settlement): NewEntry {
  const { result, code, runId, detail } = settlement;
  return {
    ...plainEntry,
    type: "service",
    deliveryId: delivery.deliveryId,
    evidence: {
      kind: "delivery",
      event: reading.event,
      result,
      code,
      ...(typeof detail["cause"] === "string" ? { cause: detail["cause"] } : {}),
      ...(runId === null ? {} : { liveRunId: runId }),
      ...(reading.kind === "ask" ? { repositoryId: String(reading.repository.id), item: reading.item.number } : {}),
    },
  };
}
