import {
  type ActionId,
  fieldCommitment,
  type NewEntry,
  nonceSizeBytes,
  type RandomBytes,
  type SealedField,
} from "../domain/index.ts";
import type { NewBatch } from "./prepare-batch.ts";

/**
 * The texts of one append ready to be sealed, and what the entry's `evidence.commitments` must say of them. The nonce is
 * 32 random bytes, one for an action (AUD-15) or for an entry of no action; `isNew` seals it along.
 */
export function sealCommitted(
  actionId: ActionId | null,
  nonce: { readonly bytes: Uint8Array; readonly isNew: boolean },
  texts: Readonly<Record<string, Uint8Array>>,
): { readonly sealed: readonly SealedField[]; readonly commitments: Readonly<Record<string, string>> } {
  const fields = Object.entries(texts);
  return {
    sealed: [
      ...(nonce.isNew ? [{ actionId, field: "nonce", plaintext: nonce.bytes }] : []),
      ...fields.map(([field, plaintext]) => ({ actionId, field, plaintext })),
    ],
    commitments: Object.fromEntries(fields.map(([field, text]) => [field, fieldCommitment(field, nonce.bytes, text)])),
  };
}

/**
 * Texts of a run as a whole, such as a model's answer, have no nonce that lasts: where the caller gives none, the first
 * entry of the run gets one and commits to them.
 */
export function commitRunTexts(batch: NewBatch, randomBytes: RandomBytes): NewBatch {
  const ofRun = batch.sealed.filter(({ actionId }) => actionId === null);
  if (ofRun.length === 0 || ofRun.some(({ field }) => field === "nonce")) return batch;
  const at = batch.entries.findIndex(isOfRun);
  const texts = Object.fromEntries(ofRun.map(({ field, plaintext }) => [field, plaintext]));
  const nonce = { bytes: randomBytes(nonceSizeBytes), isNew: true };
  const { sealed, commitments } = sealCommitted(null, nonce, texts);
  const commit = (entry: NewEntry): NewEntry => ({ ...entry, evidence: { ...entry.evidence, commitments } });
  return {
    entries: batch.entries.map((entry, index) => (index === at ? commit(entry) : entry)),
    sealed: [...batch.sealed, ...sealed.filter(({ field }) => field === "nonce")],
  };
}

const isOfRun = ({ runId, actionId }: NewEntry): boolean => runId !== null && actionId === null;
