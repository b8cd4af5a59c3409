import type { DeliveryCode, RunId } from "../domain/index.ts";
import type { Transaction } from "../store/index.ts";
import type { AcceptDeps } from "./intake-deps.ts";
import { keptMs } from "./prune-deliveries.ts";
import { reachedCap } from "./reached-cap.ts";
import type { Ask } from "./reading.ts";
import { readFacts } from "./stored-facts.ts";

/** Why a run that a writer asked for is not made now. `runId`: the live one in the way. */
export type Obstacle = { readonly code: DeliveryCode; readonly runId: RunId | null };

const obstacle = (code: DeliveryCode, runId: RunId | null = null): Obstacle => ({ code, runId });

/** What the signed payload itself says against a run, without asking anybody. */
export function obstacleInPayload(
  { operator, clock }: Pick<AcceptDeps, "operator" | "clock">,
  { repository, item, at }: Ask,
): Obstacle | null {
  if (repository.archived === true) return obstacle("repository_archived");
  if (repository.disabled === true) return obstacle("repository_disabled");
  if (repository.fork === true && !operator.permittedForks.includes(repository.id)) {
    return obstacle("fork_not_permitted");
  }
  if (!item.isOpen) return obstacle("item_closed");
  if (at === null || Number.isNaN(Date.parse(at))) return obstacle("trigger_time_unreadable");
  // Its keys may be forgotten by now: a signed body that someone kept must not count as new.
  if (clock() - Date.parse(at) > keptMs) return obstacle("trigger_too_old");
  if (item.title.trim() === "" && item.body.trim() === "") return obstacle("issue_without_text");
  return null;
}

/**
 * The kill switch, a stop that came after, the live run of the item and the caps (SEC-35), as the database has them. Asked once before anything
 * is made, and once more in the transaction, where the ledger's lock lets no other run come between. Throws
 * `KILL_SWITCH_UNREADABLE`: then nothing is made (SEC-5).
 */
export async function obstacleInStore(
  deps: Pick<AcceptDeps, "operator" | "clock">,
  db: Pick<Transaction, "selectFrom">,
  ask: Ask,
): Promise<Obstacle | null> {
  const facts = await readFacts(deps, db, ask);
  if (facts.isPaused) return obstacle("paused");
  if (facts.isStopped) return obstacle("stopped_since");
  if (facts.liveRunId !== null) return obstacle("run_live", facts.liveRunId);
  const code = reachedCap(deps, facts);
  return code === null ? null : obstacle(code);
}
