import type { DeliveryCode, RunId } from "../domain/index.ts";
import type { Transaction } from "../store/index.ts";
import type { AcceptDeps } from "./intake-deps.ts";
import { keptMs } from "./prune-deliveries.ts";
import type { Ask } from "./reading.ts";

/** Why a run that a writer asked for is not made now. `runId`: the live one in the way. */
export type Obstacle = { readonly code: DeliveryCode; readonly runId: RunId | null };

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

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
 * The kill switch, the live run of the item and the caps (SEC-35), as the database has them. Asked once before anything
 * is made, and once more in the transaction, where the ledger's lock lets no other run come between.
 */
export async function obstacleInStore(
  deps: Pick<AcceptDeps, "operator" | "clock">,
  db: Pick<Transaction, "selectFrom">,
  ask: Ask,
): Promise<Obstacle | null> {
  const state = await db.selectFrom("service_state").select("paused").executeTakeFirst();
  if (state?.paused === true) return obstacle("paused");
  const repositoryId = String(ask.repository.id);
  const live = await db
    .selectFrom("runs")
    .select("run_id")
    .where("repository_id", "=", repositoryId)
    .where("issue_number", "=", ask.item.number)
    .where("status", "!=", "completed")
    .executeTakeFirst();
  if (live !== undefined) return obstacle("run_live", live.run_id);
  return reachedCap(deps, db, ask);
}

async function reachedCap(
  deps: Pick<AcceptDeps, "operator" | "clock">,
  db: Pick<Transaction, "selectFrom">,
  ask: Ask,
): Promise<Obstacle | null> {
  const repositoryId = String(ask.repository.id);
  const senderId = String(ask.sender.id);
  const hourAgo = new Date(deps.clock() - hourMs).toISOString();
  const dayAgo = new Date(deps.clock() - dayMs).toISOString();
  const counts = await db
    .selectFrom("runs")
    .select(({ fn, eb }) => {
      const count = () => fn.countAll<number>();
      const ofIssue = eb("repository_id", "=", repositoryId).and("issue_number", "=", ask.item.number);
      const ofRepository = eb("repository_id", "=", repositoryId);
      const ofSender = eb("requester_id", "=", senderId);
      return [
        count()
          .filterWhere(ofIssue.and("started_at", ">", hourAgo))
          .as("issueHour"),
        count().filterWhere(ofIssue).as("issueDay"),
        count()
          .filterWhere(ofRepository.and("started_at", ">", hourAgo))
          .as("repositoryHour"),
        count().filterWhere(ofRepository).as("repositoryDay"),
        count()
          .filterWhere(ofSender.and("started_at", ">", hourAgo))
          .as("senderHour"),
        count().filterWhere(ofSender).as("senderDay"),
      ];
    })
    .where("started_at", ">", dayAgo)
    .where((eb) => eb.or([eb("repository_id", "=", repositoryId), eb("requester_id", "=", senderId)]))
    .executeTakeFirstOrThrow();
  const { runsPerIssue, runsPerRepository, runsPerSender } = deps.operator.caps;
  const caps: readonly (readonly [DeliveryCode, number, number])[] = [
    ["cap_issue_hour", counts.issueHour, runsPerIssue.hour],
    ["cap_issue_day", counts.issueDay, runsPerIssue.day],
    ["cap_repository_hour", counts.repositoryHour, runsPerRepository.hour],
    ["cap_repository_day", counts.repositoryDay, runsPerRepository.day],
    ["cap_sender_hour", counts.senderHour, runsPerSender.hour],
    ["cap_sender_day", counts.senderDay, runsPerSender.day],
  ];
  const reached = caps.find(([, made, most]) => made >= most);
  return reached === undefined ? null : obstacle(reached[0]);
}
