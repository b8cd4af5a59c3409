import { type ErrorCode, isCountersignError, parseDeliveryId, plainEntry } from "../domain/index.ts";
import type { AcceptDeps } from "./intake-deps.ts";
import { handledEvents } from "./read-event.ts";

/** One attempt to deliver, as the App's list of deliveries has it. `guid` is what `X-GitHub-Delivery` held. */
export type HookDelivery = {
  readonly id: number;
  readonly guid: string;
  /** Without the action, such as `issues`. */
  readonly event: string;
  /** ISO 8601. */
  readonly deliveredAt: string;
  /** What we answered; 0 where we didn't. */
  readonly statusCode: number;
};

export type RedeliverDeps = Pick<AcceptDeps, "store" | "ledger" | "clock"> & {
  /** One page, newest first; `next` is the cursor of the following one. */
  readonly listDeliveries: (
    cursor: string | null,
    signal: AbortSignal,
  ) => Promise<{ readonly deliveries: readonly HookDelivery[]; readonly next: string | null }>;
  readonly redeliver: (id: number, signal: AbortSignal) => Promise<void>;
};

/** How many GitHub was asked for, and how many of these it would not send. */
export type Redelivered = { readonly asked: number; readonly refused: number };

/** GitHub keeps deliveries for three days, Enterprise Server for seven; older ones are never asked for. */
const lookedBackMs = 7 * 24 * 3_600_000;
/** One of the last moments may still be on its way. */
const settledMs = 60_000;
const pageLimit = 100;
/** What was refused for what it is will be refused again. */
const finalStatuses: readonly number[] = [413, 415];

/** So many in one round; the others in the next. */
const askedAtMost = 500;
/** Where so many are refused one after the other, it is not for their sake: the rest waits for the next round. */
const refusedInARow = 10;
const firstPauseMs = 3_600_000;
const longestPauseMs = 24 * 3_600_000;

/**
 * Asks GitHub for those of our events that it could not deliver (GH-32): each once, by its newest attempt. They come by
 * the signed path with the same id. One that GitHub refuses is on record, and left out for a time that doubles with each
 * refusal: the others are asked for all the same. Throws what keeps all of them from being asked for.
 */
export async function redeliverMissed(deps: RedeliverDeps, signal: AbortSignal): Promise<Redelivered> {
  const newest = new Map<string, HookDelivery>();
  let cursor: string | null = null;
  for (let page = 0; page < pageLimit; page += 1) {
    signal.throwIfAborted();
    const { deliveries, next } = await deps.listDeliveries(cursor, signal);
    for (const delivery of deliveries) {
      if (!newest.has(delivery.guid)) newest.set(delivery.guid, delivery);
    }
    if (next === null || deliveries.some((delivery) => ageMs(deps, delivery) > lookedBackMs)) break;
    cursor = next;
  }
  const missed = await withoutStored(
    deps,
    [...newest.values()].filter((delivery) => mayBeMissed(deps, delivery)),
  );
  let asked = 0;
  let refused = 0;
  let inARow = 0;
  for (const delivery of missed.slice(0, askedAtMost)) {
    signal.throwIfAborted();
    const refusal = await ask(deps, delivery, signal);
    asked += 1;
    inARow = refusal === null ? 0 : inARow + 1;
    if (refusal === null) continue;
    refused += 1;
    await recordRefusal(deps, delivery, refusal);
    if (inARow === refusedInARow) break;
  }
  return { asked, refused };
}

/** These say nothing of the one delivery: nothing can be asked for now. */
const ofAll: readonly ErrorCode[] = ["ABORTED", "GITHUB_LIMITED", "GITHUB_UNAUTHORIZED", "GITHUB_SUSPENDED"];

async function ask(deps: RedeliverDeps, { id }: HookDelivery, signal: AbortSignal): Promise<ErrorCode | null> {
  try {
    await deps.redeliver(id, signal);
    return null;
  } catch (error) {
    if (signal.aborted || !isCountersignError(error) || ofAll.includes(error.code)) throw error;
    return error.code;
  }
}

/** The entry, and until when it is left out. */
async function recordRefusal(deps: RedeliverDeps, { guid, deliveredAt }: HookDelivery, code: ErrorCode): Promise<void> {
  const before = await deps.store.db
    .selectFrom("refused_redeliveries")
    .select("refusals")
    .where("guid", "=", guid)
    .executeTakeFirst();
  const refusals = (before?.refusals ?? 0) + 1;
  const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** (refusals - 1));
  const state = { refusals, code, not_before: new Date(deps.clock() + pauseMs).toISOString() };
  const evidence = { kind: "redelivery_refused", code, refusals };
  const entry = { ...plainEntry, type: "service", deliveryId: parseDeliveryId(guid), evidence } as const;
  await deps.ledger.append(null, { entries: [entry], sealed: [] }, async (tx) => {
    await tx
      .insertInto("refused_redeliveries")
      .values({ guid, ...state, delivered_at: deliveredAt })
      .onConflict((conflict) => conflict.column("guid").doUpdateSet(state))
      .execute();
  });
}

const ageMs = (deps: Pick<RedeliverDeps, "clock">, { deliveredAt }: HookDelivery): number =>
  deps.clock() - Date.parse(deliveredAt);

function mayBeMissed(deps: Pick<RedeliverDeps, "clock">, delivery: HookDelivery): boolean {
  const age = ageMs(deps, delivery);
  return (
    handledEvents.has(delivery.event) &&
    parseDeliveryId(delivery.guid) !== null &&
    !finalStatuses.includes(delivery.statusCode) &&
    age >= settledMs &&
    age <= lookedBackMs
  );
}

/** Without those that are stored, and those that GitHub would not send a short while ago. */
async function withoutStored(deps: RedeliverDeps, deliveries: readonly HookDelivery[]): Promise<HookDelivery[]> {
  const ids = deliveries.flatMap(({ guid }) => parseDeliveryId(guid) ?? []);
  if (ids.length === 0) return [];
  const rows = await deps.store.db
    .selectFrom("deliveries")
    .select("delivery_id")
    .where("delivery_id", "in", ids)
    .execute();
  const paused = await deps.store.db
    .selectFrom("refused_redeliveries")
    .select("guid")
    .where("guid", "in", ids)
    .where("not_before", ">", new Date(deps.clock()).toISOString())
    .execute();
  const leftOut = new Set<string>([...rows.map((row) => row.delivery_id), ...paused.map(({ guid }) => guid)]);
  // Oldest first: a label comes before the command that stops its run.
  return deliveries
    .filter(({ guid }) => !leftOut.has(guid))
    .sort((one, other) => Date.parse(one.deliveredAt) - Date.parse(other.deliveredAt));
}
