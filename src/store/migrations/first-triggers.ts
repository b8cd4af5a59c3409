import { databaseRefusals } from "../refusals.ts";

const { illegal_transition, stale_fencing_token, append_only, not_next, bad_body } = databaseRefusals;

/** Before an entry is stored: it is the next one, its body says so too, its writer still has the lease. */
const checkEntry = `create function check_ledger_entry() returns trigger language plpgsql as $$
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
    insert into run_heads (run_id, size, fencing_token) values (entry."runId", 0, null) on conflict do nothing;
    select size, fencing_token into run_size, newest from run_heads where run_id = entry."runId" for update;
    if entry."runSeq" is distinct from run_size then
      raise exception 'run_seq % is not the next one', entry."runSeq"
        using errcode = '${not_next}', constraint = 'not_next';
    end if;
    -- Read without a lock: waiting for a lease that is being taken, while holding the ledger, could deadlock. A
    -- takeover writes an entry with its token, and from that entry on run_heads refuses the older ones.
    select greatest(newest, fencing_token) into newest from runs where run_id = entry."runId";
    if not found then
      select fencing_token into newest from run_heads where run_id = entry."runId";
    end if;
    if new.fencing_token < newest then
      raise exception 'fencing token % is older than %', new.fencing_token, newest
        using errcode = '${stale_fencing_token}', constraint = 'stale_fencing_token';
    end if;
    update run_heads set size = size + 1, fencing_token = greatest(fencing_token, new.fencing_token)
      where run_id = entry."runId";
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

/** One entry of type action into the projection. The trigger and the rebuilding use the same function. */
const projectAction = `create function project_action(e ledger_entries) returns void language plpgsql as $$
begin
  insert into actions as a
      (action_id, run_id, tool, state, try, decision_id, first_index, last_index, proposed_at, updated_at)
    values (e.action_id, e.run_id, convert_from(e.body, 'UTF8')::json -> 'evidence' ->> 'tool', e.state,
      coalesce(e.try, 0), e.decision_id, e.index, e.index, e.time, e.time)
    on conflict (action_id) do update set state = e.state, try = coalesce(e.try, a.try),
      decision_id = coalesce(e.decision_id, a.decision_id), last_index = e.index, updated_at = e.time;
end $$`;

/** After an entry is stored: its state change is legal, and what must come before it is there (AUD-3, AUD-5). */
const applyEntry = `create function apply_ledger_entry() returns trigger language plpgsql as $$
declare
  previous record;
begin
  if new.type = 'decision' then
    insert into decisions (decision_id, action_id, effect, policy_ids, entry_index)
      select new.decision_id, new.action_id, evidence ->> 'effect',
        array(select json_array_elements_text(coalesce(evidence -> 'policyIds', '[]'))), new.index
      from (select convert_from(new.body, 'UTF8')::json -> 'evidence' as evidence) as body;
    return null;
  end if;
  if new.type <> 'action' then
    return null;
  end if;

  select state, run_id, try into previous from actions where action_id = new.action_id;
  if found and previous.run_id is distinct from new.run_id then
    raise exception 'action % belongs to another run', new.action_id
      using errcode = '${illegal_transition}', constraint = 'illegal_transition';
  end if;
  if not exists (select from legal_transitions
      where from_state is not distinct from previous.state and to_state = new.state) then
    raise exception 'no transition from % to %', coalesce(previous.state, '(start)'), new.state
      using errcode = '${illegal_transition}', constraint = 'illegal_transition';
  end if;
  if new.state = 'started' and new.try <> previous.try + 1 then
    raise exception 'try % is not the next one', new.try using errcode = '${not_next}', constraint = 'not_next';
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

const refuseChange = `create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is only ever added to: % refused', tg_table_name, tg_op
    using errcode = '${append_only}', constraint = 'append_only';
end $$`;

/** Of what proves something, nothing is changed or taken away. `run_heads`, `actions` and `ledger_head` are copies. */
const appendOnly = [
  "ledger_entries",
  "ledger_nodes",
  "decisions",
  "authorizations",
  "intents",
  "starts",
  "approval_uses",
  "legal_transitions",
];

/** The rules that the database itself keeps. */
export const ledgerTriggers = [
  checkEntry,
  projectAction,
  applyEntry,
  refuseChange,
  `create trigger check_ledger_entry before insert on ledger_entries for each row execute function check_ledger_entry()`,
  `create trigger apply_ledger_entry after insert on ledger_entries for each row execute function apply_ledger_entry()`,
  ...appendOnly.map(
    (table) => `create trigger refuse_change before update or delete or truncate on ${table}
      for each statement execute function refuse_change()`,
  ),
];
