import { fieldCommitment, isCountersignError, type LedgerEntry, nonceSizeBytes } from "../domain/index.ts";
import { commitmentsOf } from "./prepare-batch.ts";
import type { StoredText } from "./stored-log.ts";
import { report, type Trust, type Walk } from "./verification-walk.ts";

/** Each commitment has its text and each text its commitment; with keys, the one is compared with the other. */
export async function checkTexts(walk: Walk, entry: LedgerEntry, texts: readonly StoredText[]): Promise<void> {
  const commitments = commitmentsOf(entry.evidence);
  const { kind, runId } = entry.evidence;
  if (kind === "erased") walk.erasuresRecorded.add(String(runId));
  const missing = new Set(Object.keys(commitments));
  // The nonce first: the others are checked with it.
  for (const text of texts.toSorted((a, b) => Number(b.field === "nonce") - Number(a.field === "nonce"))) {
    checkRow(walk, entry, text);
    if (walk.trust.unseal !== null) await checkCommitment(walk, walk.trust.unseal, entry, text);
    else if (text.field === "nonce") walk.nonces.set(ownerOf(entry), null);
    missing.delete(text.field);
  }
  if (Object.keys(commitments).length > 0 && !walk.nonces.has(ownerOf(entry))) missing.add("nonce");
  for (const field of missing) report(walk, "text_missing", entry.index, `the sealed \`${field}\` is not stored`);
  if (new Set(texts.map(({ field }) => field)).size < texts.length) {
    report(walk, "text_extra", entry.index, "a text is sealed twice with the same entry");
  }
}

/** What shares a nonce: an action's texts, or those of one entry. */
const ownerOf = ({ actionId, index }: LedgerEntry): string => actionId ?? `entry ${index}`;

function checkRow(walk: Walk, entry: LedgerEntry, text: StoredText): void {
  const commitment = text.field === "nonce" ? null : (commitmentsOf(entry.evidence)[text.field] ?? "none");
  const isOfEntry = text.actionId === entry.actionId && text.runId === entry.runId && text.createdAt === entry.time;
  if (text.commitment === commitment && isOfEntry) return;
  report(walk, "text_differs", entry.index, `the row of the sealed \`${text.field}\` differs from the entry`);
}

async function checkCommitment(
  walk: Walk,
  unseal: NonNullable<Trust["unseal"]>,
  entry: LedgerEntry,
  text: StoredText,
): Promise<void> {
  const plaintext = await unseal(text, text).catch((error: unknown) => {
    if (isCountersignError(error, "KEYS_UNUSABLE")) return undefined;
    throw error;
  });
  if (text.field === "nonce") walk.nonces.set(ownerOf(entry), plaintext ?? null);
  if (plaintext === undefined) {
    report(walk, "text_unreadable", entry.index, `the sealed \`${text.field}\` does not open with its key`);
  } else if (plaintext === null) {
    walk.erased.set(text.runId, walk.erased.get(text.runId) ?? entry.index);
  } else if (text.field !== "nonce") {
    const nonce = walk.nonces.get(ownerOf(entry));
    if (nonce?.byteLength === nonceSizeBytes && fieldCommitment(text.field, nonce, plaintext) === text.commitment)
      return;
    report(walk, "commitment_differs", entry.index, `the sealed \`${text.field}\` is not what was committed to`);
  }
}

/** Keys that are gone without an entry that says so (AUD-81). */
export function checkErasures(walk: Walk): void {
  for (const [runId, index] of walk.erased) {
    if (walk.erasuresRecorded.has(runId)) continue;
    report(walk, "erasure_without_entry", index, `keys of the run \`${runId}\` are gone and no entry says why`);
  }
}
