import type { AcceptDeps } from "./intake-deps.ts";

/** GH-31. GitHub redelivers for three days, Enterprise Server for seven. No trigger that is older starts anything. */
export const keptMs = 30 * 24 * 3_600_000;

/** Forgets the keys of deliveries older than 30 days; answers how many. The ledger keeps its entries. */
export async function pruneDeliveries(deps: Pick<AcceptDeps, "store" | "clock">): Promise<number> {
  const { numDeletedRows } = await deps.store.db
    .deleteFrom("deliveries")
    .where("received_at", "<", new Date(deps.clock() - keptMs).toISOString())
    .executeTakeFirst();
  await deps.store.db
    .deleteFrom("refused_redeliveries")
    .where("delivered_at", "<", new Date(deps.clock() - keptMs).toISOString())
    .execute();
  return Number(numDeletedRows);
}
