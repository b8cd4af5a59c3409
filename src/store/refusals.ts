/**
 * SQLSTATE codes that the triggers raise, in a class that neither PostgreSQL nor the SQL standard uses. They stand in
 * migrations and never change their meaning.
 */
export const databaseRefusals = {
  /** A pair of states that is not in `legal_transitions`, or an entry whose action is in another run (AUD-3). */
  illegal_transition: "CS001",
  /** A fencing token lower than the newest of the run (AUD-7). */
  stale_fencing_token: "CS002",
  /** UPDATE, DELETE or TRUNCATE on what is only ever added to (AUD-3). */
  append_only: "CS003",
  /** `index`, `runSeq` or `try` that isn't the next number (AUD-40). */
  not_next: "CS004",
  /** A body that disagrees with its index, with the log's origin, or that is no entry of version 1 (AUD-41). */
  bad_body: "CS005",
} as const;

export type DatabaseRefusal = keyof typeof databaseRefusals;

/** Which rule of the database an error comes from, or null where it comes from none of them. */
export function databaseRefusalOf(error: unknown): DatabaseRefusal | null {
  if (!(error instanceof Error) || !("code" in error)) return null;
  for (const [refusal, code] of Object.entries(databaseRefusals)) {
    if (error.code === code) return refusal as DatabaseRefusal;
  }
  return null;
}
