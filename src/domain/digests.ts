import { createHmac, createSecretKey, hash, hkdfSync, type KeyObject } from "node:crypto";

/**
 * Commitments and digests (AUD-15, AUD-16). A bare SHA-256 of arguments stands nowhere: arguments are short and easy to
 * guess, so that a plain hash would give them away to anyone who tries values.
 */
const labels = {
  arguments: "countersign/args/v1\n",
  raw: "countersign/raw/v1\n",
  result: "countersign/result/v1\n",
} as const;

/** Bytes of the nonce that is sealed beside the arguments. */
export const nonceSizeBytes = 32;

function commit(label: string, nonce: Uint8Array, content: Uint8Array): string {
  if (nonce.byteLength !== nonceSizeBytes) throw new Error("a commitment needs a nonce of 32 bytes");
  return `sha256-nonce:${hash("sha256", Buffer.concat([Buffer.from(label), nonce, content]), "hex")}`;
}

/** For the ledger: binds to canonical arguments without telling them to anyone who has no nonce. */
export const argumentsCommitment = (nonce: Uint8Array, canonical: Uint8Array): string =>
  commit(labels.arguments, nonce, canonical);

/** The same over the bytes as received, before any parsing (AUD-12). */
export const rawCommitment = (nonce: Uint8Array, raw: Uint8Array): string => commit(labels.raw, nonce, raw);

/** The same over the bytes of a result. */
export const resultCommitment = (nonce: Uint8Array, result: Uint8Array): string => commit(labels.result, nonce, result);

/** The commitment of a sealed field by its name; fields other than the three above have their own label of the same form. */
export function fieldCommitment(field: string, nonce: Uint8Array, content: Uint8Array): string {
  const label = Object.hasOwn(labels, field) ? labels[field as keyof typeof labels] : `countersign/${field}/v1\n`;
  return commit(label, nonce, content);
}

/** Making a key ready costs more than a digest with it. */
const readyKeys = new WeakMap<Uint8Array, KeyObject>();

function readyKey(runKey: Uint8Array): KeyObject {
  const key = readyKeys.get(runKey) ?? createSecretKey(runKey);
  readyKeys.set(runKey, key);
  return key;
}

function keyedDigest(runKey: Uint8Array, label: string, content: Uint8Array): string {
  return `hmac-sha256:${createHmac("sha256", readyKey(runKey)).update(label).update(content).digest("hex")}`;
}

/** `arguments_digest` of traces, logs and pages: equal arguments match inside one run and nowhere else. */
export const argumentsDigest = (runKey: Uint8Array, canonical: Uint8Array): string =>
  keyedDigest(runKey, labels.arguments, canonical);

/** `arguments_digest` where parsing failed: over the bytes as received; begins `raw:`. */
export const rawArgumentsDigest = (runKey: Uint8Array, raw: Uint8Array): string =>
  `raw:${keyedDigest(runKey, labels.raw, raw)}`;

/** The run key: HKDF-SHA-256 (RFC 5869) of the root key, salted with the run's random salt; 32 bytes. */
export function deriveRunKey(rootKey: Uint8Array, salt: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", rootKey, salt, "countersign/trace-args/v1", 32));
}
