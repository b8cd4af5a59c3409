import type { ActionId } from "../domain/index.ts";
import { readActionTexts } from "../ledger/index.ts";
import { openRecords } from "./open-records.ts";
import type { CountersignDeps, CountersignSettings } from "./settings.ts";

/** The validated arguments of an action, as they were hashed, beside a service that runs; null: none, or erased. */
export async function readArguments(
  deps: CountersignDeps,
  asked: { readonly settings: CountersignSettings; readonly actionId: ActionId },
  signal: AbortSignal,
): Promise<Uint8Array | null> {
  await using records = await openRecords(deps, asked.settings, signal);
  const texts = await readActionTexts(records, asked.actionId);
  return texts.find(({ field }) => field === "arguments")?.bytes ?? null;
}
