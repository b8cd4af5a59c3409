import { databaseRefusals } from "../refusals.ts";

const { illegal_transition, stale_fencing_token } = databaseRefusals;

/**
 * What leads to an effect is held to more than its own order: a decision is about an action that was proposed in the same
 * run (AUD-5), and where a run's entries are written under a lease, its effects are too (AUD-7). Runs once for each row after
 * `apply_ledger_entry`, so that a proposal of the same statement is known by then.
 */
const checkEffect = `create function check_ledger_entry_effect() returns trigger language plpgsql as $$
begin
  if new.type = 'decision' and not exists (
      select from actions where action_id = new.action_id and run_id is not distinct from new.run_id) then
    raise exception 'decision % is about no action of its run', new.decision_id
      using errcode = '${illegal_transition}', constraint = 'illegal_transition';
  end if;
  if new.type = 'action' and new.state in ('authorized', 'intent_recorded', 'started') and new.fencing_token is null
      and exists (select from run_heads where run_id = new.run_id and fencing_token is not null) then
    raise exception '% without the token of a lease', new.state
      using errcode = '${stale_fencing_token}', constraint = 'stale_fencing_token';
  end if;
  return null;
end $$`;

/** Migration 0008: no effect beside its run (AUD-5, AUD-7). */
export const eighth = {
  name: "0008",
  statements: [
    checkEffect,
    `create trigger check_ledger_entry_effect after insert on ledger_entries
      for each row when (new.type = 'decision' or new.fencing_token is null) execute function check_ledger_entry_effect()`,
  ],
} as const;
