import { advisoryLocks } from "../advisory-locks.ts";
import { databaseRefusals } from "../refusals.ts";

const { illegal_transition, stale_fencing_token, not_next, bad_body } = databaseRefusals;

/**
 * As in migration 0001, in fewer statements. The head comes first: its row lock lets one writer in at a time, so that the
 * run's own row needs no lock before it is changed.
 */
const checkEntry = `create or replace function check_ledger_entry() returns trigger language plpgsql as $$
declare
  entry record;
  log_origin text;
  run_size bigint;
  newest bigint;
begin
  begin
    select * into strict entry from json_to_record(convert_from(new.body, 'UTF8')::json) as e(
      "version" integer, "id" uuid, "origin" text, "index" bigint, "type" text, "runId" uuid, "runSeq" bigint,
      "actionId" uuid, "state" text, "attempt" integer, "try" integer, "decisionId" uuid, "deliveryId" text,
      "parentId" uuid, "traceId" text, "time" text);
  exception when data_exception then
    raise exception 'the body is no entry: %', sqlerrm using errcode = '${bad_body}', constraint = 'bad_body';
  end;

  update ledger_head set size = size + 1 where size = new.index returning origin into log_origin;
  if not found then
    raise exception 'index % is not the next one', new.index using errcode = '${not_next}', constraint = 'not_next';
  end if;
  if entry."version" is distinct from 1 or entry."index" is distinct from new.index
      or entry."origin" is distinct from log_origin
      -- The cast alone would also take 'yesterday', and times that mean something else in another zone.
      or coalesce(entry."time", '') !~ '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' then
    raise exception 'the body of entry % belongs elsewhere', new.index
      using errcode = '${bad_body}', constraint = 'bad_body';
  end if;

  if entry."runId" is not null then
    update run_heads set size = size + 1, fencing_token = greatest(fencing_token, new.fencing_token)
      where run_id = entry."runId" returning size - 1, fencing_token into run_size, newest;
    if not found then
      insert into run_heads (run_id, size, fencing_token) values (entry."runId", 1, new.fencing_token);
      run_size := 0;
      newest := new.fencing_token;
    end if;
    if entry."runSeq" is distinct from run_size then
      raise exception 'run_seq % is not the next one', entry."runSeq"
        using errcode = '${not_next}', constraint = 'not_next';
    end if;
    if new.fencing_token is not null then
      -- Read without a lock: waiting for a lease that is being taken, while holding the ledger, could deadlock. A
      -- takeover writes an entry with its token, and from that entry on run_heads refuses the older ones.
      newest := greatest(newest, (select fencing_token from runs where run_id = entry."runId"));
      if new.fencing_token < newest then
        raise exception 'fencing token % is older than %', new.fencing_token, newest
          using errcode = '${stale_fencing_token}', constraint = 'stale_fencing_token';
      end if;
    end if;
  end if;

  new.id := entry."id";
  new.type := entry."type";
  new.run_id := entry."runId";
  new.run_seq := entry."runSeq";
  new.action_id := entry."actionId";
  new.state := entry."state";
  new.attempt := entry."attempt";
  new.try := entry."try";
  new.decision_id := entry."decisionId";
  new.delivery_id := entry."deliveryId";
  new.parent_id := entry."parentId";
  new.trace_id := entry."traceId";
  new.time := entry."time"::timestamptz;
  return new;
end $$`;

/** As in migration 0001: most entries change an action that is there. */
const projectAction = `create or replace function project_action(e ledger_entries) returns void language plpgsql as $$
begin
  update actions set state = e.state, try = coalesce(e.try, try), decision_id = coalesce(e.decision_id, decision_id),
    last_index = e.index, updated_at = e.time where action_id = e.action_id;
  if not found then
    insert into actions
        (action_id, run_id, tool, state, try, decision_id, first_index, last_index, proposed_at, updated_at)
      values (e.action_id, e.run_id, convert_from(e.body, 'UTF8')::json -> 'evidence' ->> 'tool', e.state,
        coalesce(e.try, 0), e.decision_id, e.index, e.index, e.time, e.time);
  end if;
end $$`;

/** As in migrations 0001 and 0008 together (AUD-3, AUD-5, AUD-7). */
const applyEntry = `create or replace function apply_ledger_entry() returns trigger language plpgsql as $$
declare
  previous record;
begin
  if new.type = 'decision' then
    insert into decisions (decision_id, action_id, effect, policy_ids, entry_index)
      select new.decision_id, new.action_id, evidence ->> 'effect',
        array(select json_array_elements_text(coalesce(evidence -> 'policyIds', '[]'))), new.index
      from (select convert_from(new.body, 'UTF8')::json -> 'evidence' as evidence) as body
      where exists (select from actions where action_id = new.action_id and run_id is not distinct from new.run_id);
    if not found then
      raise exception 'decision % is about no action of its run', new.decision_id
        using errcode = '${illegal_transition}', constraint = 'illegal_transition';
    end if;
    return null;
  end if;
  if new.type <> 'action' then
    return null;
  end if;

  select a.action_id, a.state, a.run_id, a.try, exists (
      select from legal_transitions
        where coalesce(from_state, '') = coalesce(a.state, '') and to_state = new.state) as is_legal
    into previous from (values (1)) as one left join actions a on a.action_id = new.action_id;
  if previous.action_id is not null and previous.run_id is distinct from new.run_id then
    raise exception 'action % belongs to another run', new.action_id
      using errcode = '${illegal_transition}', constraint = 'illegal_transition';
  end if;
  if not previous.is_legal then
    raise exception 'no transition from % to %', coalesce(previous.state, '(start)'), new.state
      using errcode = '${illegal_transition}', constraint = 'illegal_transition';
  end if;
  if new.state = 'started' and new.try <> previous.try + 1 then
    raise exception 'try % is not the next one', new.try using errcode = '${not_next}', constraint = 'not_next';
  end if;
  if new.fencing_token is null and new.state in ('authorized', 'intent_recorded', 'started')
      and exists (select from run_heads where run_id = new.run_id and fencing_token is not null) then
    raise exception '% without the token of a lease', new.state
      using errcode = '${stale_fencing_token}', constraint = 'stale_fencing_token';
  end if;

  if new.state = 'authorized' then
    insert into authorizations (action_id, decision_id, entry_index)
      values (new.action_id, new.decision_id, new.index);
  elsif new.state = 'intent_recorded' then
    insert into intents (action_id, entry_index) values (new.action_id, new.index);
  elsif new.state = 'started' then
    insert into starts (action_id, try, entry_index) values (new.action_id, new.try, new.index);
  end if;
  perform project_action(new);
  return null;
end $$`;

/**
 * All that one append writes, in one call, so that the server plans its statements once for each connection and not for each append.
 * Takes the log's lock (AUD-40) and makes the commit durable whatever the server's default is (AUD-4). A span whose id is taken already is left out:
 * a fault in the trace must not keep an entry from being recorded, and is found by the count of lost spans.
 */
const appendEntries = `create function append_entries(
  indexes bigint[], bodies bytea[], leaf_hashes bytea[], fencing_tokens bigint[],
  node_levels smallint[], node_positions bigint[], node_hashes bytea[],
  span_runs uuid[], span_entries bigint[], span_traces text[], span_ids text[], spans json[],
  text_runs uuid[], text_actions uuid[], text_fields text[], text_entries bigint[],
  text_keys text[], text_nonces bytea[], ciphertexts bytea[], commitments text[],
  written_at timestamptz
) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(${advisoryLocks.ledger}), set_config('synchronous_commit', 'on', true);
  insert into ledger_entries (index, body, leaf_hash, fencing_token)
    select * from unnest(indexes, bodies, leaf_hashes, fencing_tokens);
  if cardinality(node_levels) > 0 then
    insert into ledger_nodes (level, position, hash) select * from unnest(node_levels, node_positions, node_hashes);
  end if;
  if cardinality(span_ids) > 0 then
    insert into span_outbox (run_id, entry_index, trace_id, span_id, span, created_at)
      select span.*, written_at from unnest(span_runs, span_entries, span_traces, span_ids, spans) as span
      on conflict do nothing;
  end if;
  if cardinality(text_fields) > 0 then
    insert into sealed (run_id, action_id, field, entry_index, key_id, nonce, ciphertext, commitment, created_at)
      select text.*, written_at from unnest(
        text_runs, text_actions, text_fields, text_entries, text_keys, text_nonces, ciphertexts, commitments) as text;
  end if;
end $$`;

/** Migration 0009: what an append costs. No rule of the log changes. */
export const ninth = {
  name: "0009",
  statements: [
    checkEntry,
    projectAction,
    applyEntry,
    `drop trigger check_ledger_entry_effect on ledger_entries`,
    `drop function check_ledger_entry_effect()`,
    appendEntries,
  ],
} as const;
