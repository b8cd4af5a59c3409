import { createHmac, timingSafeEqual } from "node:crypto";
import type { Secret } from "../domain/index.ts";

/** GitHub's documentation, "Validating webhook deliveries": `X-Hub-Signature-256`, lower-case hex. */
const signatureForm = /^sha256=([0-9a-f]{64})$/;

/**
 * Whether the one signature header holds for these bytes under any of the secrets (SEC-110). `headers` are all values
 * that were sent under that name: none, or more than one, is refused. Each secret is tried, whichever fits.
 */
export function isSigned(secrets: readonly Secret[], headers: readonly string[], bytes: Uint8Array): boolean {
  const [header, ...more] = headers;
  const digits = signatureForm.exec(header ?? "")?.[1];
  if (digits === undefined || more.length > 0) return false;
  const given = Buffer.from(digits, "hex");
  const fits = secrets.map((secret) =>
    timingSafeEqual(given, createHmac("sha256", secret.reveal()).update(bytes).digest()),
  );
  return fits.includes(true);
}
