import type { Checkpoint } from "../domain/index.ts";
import type { Store } from "../store/index.ts";
import { type Keys, originOf } from "./keys.ts";
import { readForVerification } from "./read-for-verification.ts";
import { type Verification, verifyLedger } from "./verify.ts";

/** Verifies the whole log of this instance as it is stored now, sealed texts included. Throws `LEDGER_UNAVAILABLE`. */
export function verifyStored(
  deps: { readonly store: Store; readonly keys: Keys },
  checkpoints: readonly Checkpoint[] = [],
): Promise<Verification> {
  const trust = { origin: originOf(deps.keys), checkpoints, unseal: deps.keys.open };
  return readForVerification(deps.store, (log) => verifyLedger(log, trust));
}
