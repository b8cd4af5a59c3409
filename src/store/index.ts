/**
 * PostgreSQL: the tables and their rules, the connections, the embedded server, the queue; and the register of what is
 * ours among processes and folders.
 * Door: `openStore`, the table types, `rebuildProjection`, `databaseRefusalOf`; the row of the kill switch;
 * `registerProcess`, `isAlive`, `sweepLeftovers`, `sweepAbandonedGroups`, `endAbandonedServers`.
 * Never: no decision and no hash is made here; what an entry says is for `ledger` to know. No other room changes the schema.
 */
export { advisoryLocks } from "./advisory-locks.ts";
export { readEmbeddedPassword } from "./cluster.ts";
export { abandonedGroups, isGroupName, ownGroupName, sweepAbandonedGroups } from "./control-groups.ts";
export type { Database, Transaction } from "./database.ts";
export { endAbandonedServers } from "./embedded-server.ts";
export { type Halt, type KillSwitch, orUnreadable, readHalt, readKillSwitch, setKillSwitch } from "./kill-switch.ts";
export { openStore, type StoreDeps, type StoreOptions } from "./open-store.ts";
export { ownerState, processOwner } from "./process-owner.ts";
export { isAlive, type Registered, registerProcess, startTimeOf } from "./process-register.ts";
export { rebuildProjection } from "./projection.ts";
export type { JobHandler, Queue } from "./queue.ts";
export { type DatabaseRefusal, databaseRefusalOf } from "./refusals.ts";
export { removeFolder } from "./remove-folder.ts";
export { makeHome, refuseForeignHome, refuseFullDisk, translateFileError, type UserId } from "./service-folder.ts";
export type { Store } from "./store.ts";
export { sweepLeftovers } from "./sweep-leftovers.ts";
