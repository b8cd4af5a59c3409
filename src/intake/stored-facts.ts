import { sql } from "kysely";
import type { RunId } from "../domain/index.ts";
import { orUnreadable, type Store, type Transaction } from "../store/index.ts";
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

type Row = Pick<StoredFacts, "isPaused" | "isStopped" | "liveRunId"> & {
  readonly made: readonly [number, number, number, number, number, number];
  readonly spentTokens: string;
  readonly endCount: number;
  readonly haveAllFailed: boolean | null;
  readonly newestEndAt: string | null;
};

/** One statement, since it is asked while the ledger's lock is held. Throws `KILL_SWITCH_UNREADABLE`. */
export async function readFacts(
  { operator, clock }: Pick<AcceptDeps, "operator" | "clock">,
  db: Store["db"] | Transaction,
  { installationId, repository, item, sender, at }: Ask,
): Promise<StoredFacts> {
  const repositoryId = String(repository.id);
  const senderId = String(sender.id);
  const [hourAgo, dayAgo] = [hourMs, dayMs].map((ago) => new Date(clock() - ago).toISOString());
  // Times have whole seconds: what happened in the same one may have come after, and stopping is the safe side (GH-13).
  const since = new Date(Math.floor(Date.parse(at ?? "") / 1000) * 1000).toISOString();
  const { made, ...row } = await orUnreadable(async () => {
    const { rows } = await sql<Row>`
      select service.paused as "isPaused",
        exists (select from deliveries where stop_at >= ${since} and (
          (repository_id = ${repositoryId} and item_number = ${item.number})
          or stop_repository_ids @> ${JSON.stringify([repositoryId])}::jsonb
          or (installation_id = ${installationId} and item_number is null))) as "isStopped",
        (select run_id from runs where repository_id = ${repositoryId} and issue_number = ${item.number}
          and status <> 'completed' limit 1) as "liveRunId",
        made.counts as made,
        (select coalesce(sum(coalesce(used_tokens,
            (limits ->> 'inputTokens')::bigint + (limits ->> 'outputTokens')::bigint)), 0)
          from runs where started_at > ${dayAgo}) as "spentTokens",
        ended.count as "endCount", ended.have_failed as "haveAllFailed", ended.newest_at as "newestEndAt"
      from service_state service, lateral (
        select json_build_array(
          count(*) filter (where of_issue and is_new), count(*) filter (where of_issue),
          count(*) filter (where of_repository and is_new), count(*) filter (where of_repository),
          count(*) filter (where of_sender and is_new), count(*) filter (where of_sender)) as counts
        from (
          select started_at > ${hourAgo} as is_new, repository_id = ${repositoryId} as of_repository,
            repository_id = ${repositoryId} and issue_number is not distinct from ${item.number} as of_issue,
            requester_id = ${senderId} as of_sender
          from runs where started_at > ${dayAgo}
            and (repository_id = ${repositoryId} or requester_id = ${senderId})
        ) run
      ) made, lateral (
        select count(*), bool_and(conclusion in ('failure', 'timed_out')) as have_failed, max(completed_at) as newest_at
        from (
          select conclusion, completed_at from runs
          where repository_id = ${repositoryId} and status = 'completed' and conclusion <> 'cancelled'
          order by completed_at desc limit ${operator.caps.failuresPerRepository.inARow}
        ) run
      ) ended`.execute(db);
    return rows[0];
  });
  const [issueHour, issueDay, repositoryHour, repositoryDay, senderHour, senderDay] = made;
  return {
    isPaused: row.isPaused,
    isStopped: row.isStopped,
    liveRunId: row.liveRunId,
    ofIssue: { hour: issueHour, day: issueDay },
    ofRepository: { hour: repositoryHour, day: repositoryDay },
    ofSender: { hour: senderHour, day: senderDay },
    spentTokens: Number(row.spentTokens),
    lastEnds: { count: row.endCount, haveAllFailed: row.haveAllFailed === true, newestAt: row.newestEndAt },
  };
}
