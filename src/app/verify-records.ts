import { type Verification, verifyStored } from "../ledger/index.ts";
import { openRecords } from "./open-records.ts";
import type { CountersignDeps, CountersignSettings } from "./settings.ts";

/** Reads and verifies the whole ledger, beside a service that runs on it. */
export async function verifyRecords(
  deps: CountersignDeps,
  settings: CountersignSettings,
  signal: AbortSignal,
): Promise<Verification> {
  await using records = await openRecords(deps, settings, signal);
  return await verifyStored(records);
}
