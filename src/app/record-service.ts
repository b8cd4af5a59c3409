import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type JsonObject, plainEntry } from "../domain/index.ts";
import type { Transaction } from "../store/index.ts";
import type { Records } from "./open-runs.ts";

/** What a service begins with. `policySetDigest` null: this process decides nothing. */
type ServiceStart = {
  readonly role: string;
  readonly policySetDigest: string | null;
  readonly operatorSettingsDigest: string;
};

/** SHA-256 of the bytes of the operator's settings; those of a folder without the file are empty. */
export async function operatorSettingsDigest(policiesFolder: string): Promise<string> {
  const bytes = await readFile(join(policiesFolder, "operator.json")).catch(() => Buffer.alloc(0));
  return hash("sha256", bytes, "hex");
}

const entryOf = (evidence: JsonObject) => ({ ...plainEntry, type: "service", evidence }) as const;

/**
 * Puts on record that a service begins, and what of its policies and settings is another than when one last began (AUD-11).
 * Throws what `append` throws.
 */
export async function recordStart({ store, ledger }: Records, start: ServiceStart): Promise<void> {
  const before = await store.db
    .selectFrom("service_state")
    .select(["policy_set_digest as policySet", "operator_settings_digest as settings"])
    .executeTakeFirst();
  const { role, policySetDigest, operatorSettingsDigest: settings } = start;
  const policySet = policySetDigest ?? before?.policySet ?? null;
  const changed = (kind: string, from: string | null | undefined, to: string | null): JsonObject[] =>
    from == null || from === to ? [] : [{ kind, from, to }];
  const evidence: JsonObject[] = [
    { kind: "service_started", role, policySetDigest, operatorSettingsDigest: settings },
    ...changed("policy_set_changed", before?.policySet, policySet),
    ...changed("operator_settings_changed", before?.settings, settings),
  ];
  const remember = async (tx: Transaction): Promise<void> => {
    const now = { policy_set_digest: policySet, operator_settings_digest: settings };
    await tx.updateTable("service_state").set(now).execute();
  };
  await ledger.append(null, { entries: evidence.map(entryOf), sealed: [] }, remember);
}

/** Puts on record that it ends in order: a service that was killed has a start without this. */
export async function recordStop({ ledger }: Pick<Records, "ledger">, role: string): Promise<void> {
  await ledger.append(null, { entries: [entryOf({ kind: "service_stopped", role })], sealed: [] });
}
