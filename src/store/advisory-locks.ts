/** Keys of `pg_advisory_xact_lock` in this database; the numbers only have to differ, and stay. */
export const advisoryLocks = {
  migrations: 20_261_101,
  /** AUD-40: one writer of the ledger at a time. */
  ledger: 20_261_102,
} as const;
