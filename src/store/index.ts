/**
 * PostgreSQL: the tables and their rules, the connections, the embedded server, the queue.
 * Door: `openStore`, the table types, `rebuildProjection`, `databaseRefusalOf`.
 * Never: no decision and no hash is made here; what an entry says is for `ledger` to know. No other room changes the schema.
 */
export { advisoryLocks } from "./advisory-locks.ts";
export type { Database } from "./database.ts";
export { openStore, type StoreOptions } from "./open-store.ts";
export { rebuildProjection } from "./projection.ts";
export { type DatabaseRefusal, databaseRefusalOf } from "./refusals.ts";
export type { Store, Transaction } from "./store.ts";
