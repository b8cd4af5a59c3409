/**
 * From a webhook to a queued run: raw bytes, size, signature, who may ask, two keys against repetition, one transaction.
 * Door: `createIntake`, the server; `pruneDeliveries` and `redeliverMissed`, which the service calls now and then.
 * Jobs made: `run` with `{runId}`, `answer` with `{deliveryId}` (its row says what and how, `deliveries.answer`).
 * Never: no write to GitHub, no text of a payload in a log, in the queue or unsealed in the database, no run without the
 * permission API's yes.
 */
export { createIntake, type Intake, type IntakeDeps, type IntakeSettings } from "./create-intake.ts";
export { type AskGithub, type IntakeTimes, intakeTimes, type Place } from "./intake-deps.ts";
export { pruneDeliveries } from "./prune-deliveries.ts";
export { type HookDelivery, type RedeliverDeps, redeliverMissed } from "./redeliver-missed.ts";
