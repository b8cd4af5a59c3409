import { type Clock, type JsonObject, plainEntry } from "../domain/index.ts";
import type { Ledger } from "../ledger/index.ts";
import { type Store, setKillSwitch, type Transaction } from "../store/index.ts";

type SettingsDeps = { readonly store: Store; readonly ledger: Ledger; readonly clock: Clock };

/** What a start finds. `policySetDigest`: null where the process decides nothing. */
export type FoundSettings = {
  readonly operatorDigest: string;
  readonly policySetDigest: string | null;
  readonly killSwitch: "running" | "paused";
};

/** Another process that starts at the same moment has recorded it. */
class RecordedMeanwhile extends Error {}

/**
 * Records that `operator.json` or the policy set is another one than at the last start (AUD-11). At the first start of a
 * database the kill switch is set as the operator wants it by default (AUD-90). Throws `LEDGER_UNAVAILABLE`.
 */
export async function recordSettings(deps: SettingsDeps, found: FoundSettings): Promise<void> {
  const { store, ledger, clock } = deps;
  const before = await store.db
    .selectFrom("service_state")
    .select(["operator_digest", "policy_set_digest"])
    .executeTakeFirst();
  if (before === undefined) return; // nothing starts while the kill switch has no row: the hand that writes it comes first
  const { operatorDigest: operator, policySetDigest: policies, killSwitch } = found;
  const isPaused = before.operator_digest === null && killSwitch === "paused";
  const changes: readonly JsonObject[] = [
    ...(operator === before.operator_digest ? [] : [changed("operator_changed", before.operator_digest, operator)]),
    ...(policies === null || policies === before.policy_set_digest
      ? []
      : [changed("policy_set_changed", before.policy_set_digest, policies)]),
    ...(isPaused ? [{ kind: "paused", cause: "default" }] : []),
  ];
  if (changes.length === 0) return;
  const entries = changes.map((evidence) => ({ ...plainEntry, type: "service", evidence }) as const);
  const keep = async (tx: Transaction): Promise<void> => {
    const { numUpdatedRows } = await tx
      .updateTable("service_state")
      .set({ operator_digest: operator, policy_set_digest: policies ?? before.policy_set_digest })
      .where("operator_digest", "is not distinct from", before.operator_digest)
      .where("policy_set_digest", "is not distinct from", before.policy_set_digest)
      .executeTakeFirst();
    if (numUpdatedRows !== 1n) throw new RecordedMeanwhile("another process has recorded it");
    if (isPaused) await setKillSwitch(tx, true, new Date(clock()).toISOString());
  };
  try {
    await ledger.append(null, { entries, sealed: [] }, keep);
  } catch (error) {
    if (!(error instanceof RecordedMeanwhile)) throw error;
  }
}

const changed = (kind: string, before: string | null, after: string): JsonObject => ({ kind, before, after });

/** A start or a stop of the service (AUD-11). */
export async function recordService(
  ledger: Pick<Ledger, "append">,
  kind: "service_started" | "service_stopped",
  role: string,
): Promise<void> {
  const entry = { ...plainEntry, type: "service", evidence: { kind, role } } as const;
  await ledger.append(null, { entries: [entry], sealed: [] });
}
