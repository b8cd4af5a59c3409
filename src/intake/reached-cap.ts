import type { Conclusion, DeliveryCode } from "../domain/index.ts";
import type { Transaction } from "../store/index.ts";
import type { AcceptDeps } from "./intake-deps.ts";
import type { Ask } from "./reading.ts";

type CapDeps = Pick<AcceptDeps, "operator" | "clock">;
type CapAsk = Pick<Ask, "repository" | "item" | "sender">;
type Reader = Pick<Transaction, "selectFrom">;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/**
 * The first of the operator's caps (SEC-35, `caps` in `operator.json`) that one more run would pass, by the name that its
 * refusal has; null where none.
 */
export async function reachedCap(deps: CapDeps, db: Reader, ask: CapAsk): Promise<DeliveryCode | null> {
  return (await reachedCount(deps, db, ask)) ?? (await spentDay(deps, db)) ?? (await repeatedFailures(deps, db, ask));
}

async function reachedCount(deps: CapDeps, db: Reader, ask: CapAsk): Promise<DeliveryCode | null> {
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
  return reached === undefined ? null : reached[0];
}

/** Spend of the last day: what ended runs have used and all that the others may still use, this one included. */
async function spentDay({ operator, clock }: CapDeps, db: Reader): Promise<DeliveryCode | null> {
  const { spent } = await db
    .selectFrom("runs")
    .select((row) => {
      const limit = (name: "inputTokens" | "outputTokens") =>
        row.cast<number>(row.ref("limits", "->>").key(name), "bigint");
      const mayUse = row(limit("inputTokens"), "+", limit("outputTokens"));
      return row.fn.sum<string | null>(row.fn.coalesce("used_tokens", mayUse)).as("spent");
    })
    .where("started_at", ">", new Date(clock() - dayMs).toISOString())
    .executeTakeFirstOrThrow();
  const { inputTokens, outputTokens } = operator.limits;
  return Number(spent) + inputTokens + outputTokens > operator.caps.tokensPerDay ? "cap_tokens_day" : null;
}

const failed: ReadonlySet<Conclusion | null> = new Set<Conclusion>(["failure", "timed_out"]);

/** The circuit breaker: opens once so many runs in a row have failed, and lets one through when its time has gone by. */
async function repeatedFailures(
  { operator, clock }: CapDeps,
  db: Reader,
  { repository }: CapAsk,
): Promise<DeliveryCode | null> {
  const { inARow, minutes } = operator.caps.failuresPerRepository;
  const ends = await db
    .selectFrom("runs")
    .select(["conclusion", "completed_at"])
    .where("repository_id", "=", String(repository.id))
    .where("status", "=", "completed")
    .where("conclusion", "!=", "cancelled") // tells nothing of whether runs work there
    .orderBy("completed_at", "desc")
    .limit(inARow)
    .execute();
  const hasAllFailed = ends.length === inARow && ends.every(({ conclusion }) => failed.has(conclusion));
  const isRecent = Date.parse(ends[0]?.completed_at ?? "") > clock() - minutes * minuteMs;
  return hasAllFailed && isRecent ? "repeated_failures" : null;
}
