import type { Conclusion, RunId } from "../domain/index.ts";
import { orUnreadable, type Transaction } from "../store/index.ts";
import type { AcceptDeps } from "./intake-deps.ts";
import type { Ask } from "./reading.ts";

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;

/** Runs that were made in the last hour and in the last day. */
export type Made = { readonly hour: number; readonly day: number };

/** All that the database knows for and against one more run. */
export type StoredFacts = {
  readonly isPaused: boolean;
  /** What is asked for was stopped after it (GH-13). */
  readonly isStopped: boolean;
  /** Of the item. */
  readonly liveRunId: RunId | null;
  readonly ofIssue: Made;
  readonly ofRepository: Made;
  readonly ofSender: Made;
  /** Of the last day: what ended runs have used and all that the others may still use. */
  readonly spentTokens: number;
  /** The last ends in the repository, so many as the operator's setting says. A cancelled run tells nothing of whether runs work there. */
  readonly lastEnds: { readonly count: number; readonly haveAllFailed: boolean; readonly newestAt: string | null };
};

type Reader = Pick<Transaction, "selectFrom">;

/** One statement, since it is asked while the ledger's lock is held. Throws `KILL_SWITCH_UNREADABLE`. */
export async function readFacts(
  { operator, clock }: Pick<AcceptDeps, "operator" | "clock">,
  db: Reader,
  ask: Ask,
): Promise<StoredFacts> {
  const hourAgo = new Date(clock() - hourMs).toISOString();
  const dayAgo = new Date(clock() - dayMs).toISOString();
  const repositoryId = String(ask.repository.id);
  const row = await orUnreadable(() =>
    db
      .selectFrom("service_state")
      .crossJoin(madeRuns(db, ask, { hourAgo, dayAgo }).as("made"))
      .crossJoin(spentTokens(db, dayAgo).as("spent"))
      .crossJoin(lastEnds(db, repositoryId, operator.caps.failuresPerRepository.inARow).as("ended"))
      .select(({ selectFrom, exists }) => [
        "paused",
        exists(laterStop(db, ask)).as("isStopped"),
        selectFrom("runs")
          .select("run_id")
          .where("repository_id", "=", repositoryId)
          .where("issue_number", "=", ask.item.number)
          .where("status", "!=", "completed")
          .limit(1)
          .as("liveRunId"),
      ])
      .selectAll(["made", "spent", "ended"])
      .executeTakeFirst(),
  );
  return {
    isPaused: row.paused,
    isStopped: row.isStopped === true,
    liveRunId: row.liveRunId,
    ofIssue: { hour: row.issueHour, day: row.issueDay },
    ofRepository: { hour: row.repositoryHour, day: row.repositoryDay },
    ofSender: { hour: row.senderHour, day: row.senderDay },
    spentTokens: Number(row.tokens ?? 0),
    lastEnds: { count: row.endCount, haveAllFailed: row.failedCount === row.endCount, newestAt: row.newestEndAt },
  };
}

function laterStop(db: Reader, { installationId, repository, item, at }: Ask) {
  const repositoryId = String(repository.id);
  // Times have whole seconds: what happened in the same one may have come after, and stopping is the safe side (GH-13).
  const from = new Date(Math.floor(Date.parse(at ?? "") / 1000) * 1000).toISOString();
  return db
    .selectFrom("deliveries")
    .select("delivery_id")
    .where("stop_at", ">=", from)
    .where((eb) =>
      eb.or([
        eb("repository_id", "=", repositoryId).and("item_number", "=", item.number),
        eb("stop_repository_ids", "@>", eb.cast<readonly string[]>(eb.val(JSON.stringify([repositoryId])), "jsonb")),
        eb("installation_id", "=", installationId).and("item_number", "is", null),
      ]),
    );
}

function madeRuns(db: Reader, ask: Ask, { hourAgo, dayAgo }: { readonly hourAgo: string; readonly dayAgo: string }) {
  const repositoryId = String(ask.repository.id);
  const senderId = String(ask.sender.id);
  return db
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
    .where((eb) => eb.or([eb("repository_id", "=", repositoryId), eb("requester_id", "=", senderId)]));
}

function spentTokens(db: Reader, dayAgo: string) {
  return db
    .selectFrom("runs")
    .select((row) => {
      const limit = (name: "inputTokens" | "outputTokens") =>
        row.cast<number>(row.ref("limits", "->>").key(name), "bigint");
      const mayUse = row(limit("inputTokens"), "+", limit("outputTokens"));
      return row.fn.sum<string | null>(row.fn.coalesce("used_tokens", mayUse)).as("tokens");
    })
    .where("started_at", ">", dayAgo);
}

const failed: readonly Conclusion[] = ["failure", "timed_out"];

function lastEnds(db: Reader, repositoryId: string, inARow: number) {
  return db
    .selectFrom((eb) =>
      eb
        .selectFrom("runs")
        .select(["conclusion", "completed_at"])
        .where("repository_id", "=", repositoryId)
        .where("status", "=", "completed")
        .where("conclusion", "!=", "cancelled")
        .orderBy("completed_at", "desc")
        .limit(inARow)
        .as("end"),
    )
    .select(({ fn }) => [
      fn.countAll<number>().as("endCount"),
      fn.countAll<number>().filterWhere("conclusion", "in", failed).as("failedCount"),
      fn.max("completed_at").as("newestEndAt"),
    ]);
}
