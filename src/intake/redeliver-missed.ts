import { parseDeliveryId } from "../domain/index.ts";
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

export type RedeliverDeps = Pick<AcceptDeps, "store" | "clock"> & {
  /** One page, newest first; `next` is the cursor of the following one. */
  readonly listDeliveries: (
    cursor: string | null,
    signal: AbortSignal,
  ) => Promise<{ readonly deliveries: readonly HookDelivery[]; readonly next: string | null }>;
  readonly redeliver: (id: number, signal: AbortSignal) => Promise<void>;
};

/** GitHub keeps deliveries for three days, Enterprise Server for seven; older ones are never asked for. */
const lookedBackMs = 7 * 24 * 3_600_000;
/** One of the last moments may still be on its way. */
const settledMs = 60_000;
const pageLimit = 100;
/** What was refused for what it is will be refused again. */
const finalStatuses: readonly number[] = [413, 415];

/**
 * Asks GitHub for those of our events that it could not deliver (GH-32): each once, by its newest attempt. They come by
 * the signed path with the same id. Answers how many. Throws what the two hands throw.
 */
export async function redeliverMissed(deps: RedeliverDeps, signal: AbortSignal): Promise<number> {
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
  for (const { id } of missed) {
    signal.throwIfAborted();
    await deps.redeliver(id, signal);
  }
  return missed.length;
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

async function withoutStored(deps: RedeliverDeps, deliveries: readonly HookDelivery[]): Promise<HookDelivery[]> {
  const ids = deliveries.flatMap(({ guid }) => parseDeliveryId(guid) ?? []);
  if (ids.length === 0) return [];
  const rows = await deps.store.db
    .selectFrom("deliveries")
    .select("delivery_id")
    .where("delivery_id", "in", ids)
    .execute();
  const stored = new Set<string>(rows.map((row) => row.delivery_id));
  // Oldest first: a label comes before the command that stops its run.
  return deliveries
    .filter(({ guid }) => !stored.has(guid))
    .sort((one, other) => Date.parse(one.deliveredAt) - Date.parse(other.deliveredAt));
}
