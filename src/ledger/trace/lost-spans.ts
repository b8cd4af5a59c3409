import { sql } from "kysely";
import { legalTransitions } from "../../domain/index.ts";
import type { Store } from "../../store/index.ts";
import { phasesWithSpans } from "./run-spans.ts";

/** Spans that the entries owe, and where they are. `lost` is 0 unless something is wrong; a rejected span counts as lost. */
export type SpanCount = {
  readonly owed: number;
  readonly pending: number;
  readonly sent: number;
  readonly rejected: number;
  readonly lost: number;
};

/**
 * Counts by SQL from the entries alone what `spansOf` derives in code (AUD-70): the two are written apart, so that a fault
 * of the derivation shows. Runs that began before there was an outbox owe nothing. Reads the whole log.
 */
export async function lostSpans(db: Store["db"]): Promise<SpanCount> {
  const withSuccessor = [...legalTransitions.keys()].filter((state) => state !== null);
  const { rows } = await sql<Omit<SpanCount, "lost">>`
    with traced as (
      select run_id from ledger_entries where run_seq = 0 and index >= (select index from trace_start)
    ), entry as (
      select e.index, e.run_id, e.type, e.action_id, e.state, e.attempt,
        convert_from(e.body, 'UTF8')::json -> 'evidence' as evidence
      from ledger_entries e join traced using (run_id)
    ), run as (
      select run_id,
        min(index) filter (where type = 'run' and evidence ->> 'status' = 'completed') as completed,
        max(index) filter (where type = 'run' and evidence ->> 'phase' is not null) as last_phase
      from entry group by run_id
    ), live as (
      select e.*, run.completed, run.last_phase, max(e.attempt) over (partition by e.run_id) as last_attempt
      from entry e join run using (run_id)
      where run.completed is null or e.index <= run.completed
    ), action as (
      select action_id, bool_or(state = 'approval_pending') as was_asked,
        max(index) > min(index) filter (where state = 'approval_pending') as was_answered,
        count(*) > 1 as was_parsed,
        bool_or(state <> all(${withSuccessor}::text[])) or min(index) < min(run.completed) as has_ended
      from entry join run using (run_id) where action_id is not null
      group by action_id having bool_or(state = 'proposed')
    ), owed as (
      select count(*) as n from action where was_parsed
      union all select count(*) from action where was_asked and was_answered
      union all select count(*) from action where has_ended
      union all select count(*) from entry where type = 'decision'
      union all select count(*) from entry where state = 'intent_recorded'
        or (state = 'invalid' and evidence ->> 'stage' is distinct from 'parse')
      union all select count(*) from entry where state in ('succeeded', 'failed_definite', 'unknown')
      union all select count(*) from entry
        where state in ('reconciled_applied', 'reconciled_not_applied', 'reconcile_inconclusive')
      union all select count(*) from entry where type = 'turn' and evidence ->> 'answered' = 'true'
      union all select count(*) from run where completed is not null
      union all select count(distinct (run_id, attempt)) from live
        where attempt > 0 and (completed is not null or attempt < last_attempt)
      union all select count(*) from live
        where type = 'run' and evidence ->> 'phase' = any(${phasesWithSpans}::text[])
          and evidence ->> 'status' is distinct from 'completed'
          and (completed is not null or index < last_phase or attempt < last_attempt)
    )
    select (select coalesce(sum(n), 0) from owed)::integer as owed,
      (count(*) filter (where state = 'pending'))::integer as pending,
      (count(*) filter (where state = 'sent'))::integer as sent,
      (count(*) filter (where state = 'rejected'))::integer as rejected
    from span_outbox where run_id in (select run_id from traced)`.execute(db);
  const { owed = 0, pending = 0, sent = 0, rejected = 0 } = rows[0] ?? {};
  return { owed, pending, sent, rejected, lost: owed - pending - sent };
}
