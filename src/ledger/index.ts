/**
 * The durable, tamper-evident log of everything that is done, and the keys of what is sealed beside it.
 * Door: `openKeys`, `openLedger` with `append`, `verifyLedger`, and the questions of `audit show` and `runs list`.
 * Never: no entry is changed or taken away, no argument or result reaches SQL unsealed, nothing here decides.
 */
export { type Keys, openKeys, type Sealed, type SealPlace } from "./keys.ts";
export { type Ledger, type LedgerDeps, type NewBatch, openLedger } from "./ledger.ts";
export type { RunLease } from "./prepare-batch.ts";
export { sealCommitted } from "./seal-committed.ts";
