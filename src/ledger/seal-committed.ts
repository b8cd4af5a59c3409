import { type ActionId, fieldCommitment, type SealedField } from "../domain/index.ts";

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
