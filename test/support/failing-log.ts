import type { TestStore } from "./test-store.ts";

/** How PostgreSQL tells of a log that can't be written: by SQLSTATE, from inside the statement that writes. */
export const logFaults = [
  { name: "no rights", sqlstate: "42501" },
  { name: "disk full (ENOSPC)", sqlstate: "53100" },
  { name: "I/O error (EIO)", sqlstate: "58030" },
  { name: "read-only (EROFS)", sqlstate: "25006" },
  { name: "timeout", sqlstate: "57014" },
  { name: "server process ended", sqlstate: "kill" },
] as const;
export type LogFault = (typeof logFaults)[number];

/** A log that fails where a test says so: a trigger that counts the statements that write entries, also those undone. */
export type FailingLog = {
  /** From now on the `from`-th write (from 1) and the `count - 1` after it fail. */
  fail(fault: LogFault, from: number, count?: number): Promise<void>;
  /** From now on the first write that holds an intent of this tool fails, whatever else is written beside it. */
  failIntent(fault: LogFault, tool: string): Promise<void>;
  /** From now on nothing fails. */
  mend(): Promise<void>;
};

export async function makeLogFail(store: TestStore): Promise<FailingLog> {
  await store.sql("create table failing (sqlstate text, first bigint, last bigint)");
  await store.sql("create sequence log_writes"); // what it counted stays counted where the write is undone
  await store.sql(`create function fail_write() returns trigger language plpgsql as $$
    declare
      fault record;
      number bigint := nextval('log_writes');
    begin
      select * into fault from failing where number between first and last;
      if not found then return null; end if;
      if fault.sqlstate = 'kill' then
        perform pg_terminate_backend(pg_backend_pid());
        perform pg_sleep(5);
      end if;
      raise exception 'a fault of the test' using errcode = fault.sqlstate;
    end $$`);
  await store.sql(
    "create trigger fail_write before insert on ledger_entries for each statement execute function fail_write()",
  );
  await store.sql("create table failing_intents (sqlstate text, tool text)");
  await store.sql("create sequence failed_intents");
  await store.sql(`create function fail_intent() returns trigger language plpgsql as $$
    declare
      fault record;
    begin
      select f.* into fault from failing_intents f join actions a using (tool) where a.action_id = new.action_id;
      if not found or nextval('failed_intents') > 1 then return new; end if;
      raise exception 'a fault of the test' using errcode = fault.sqlstate;
    end $$`);
  await store.sql(
    `create trigger fail_intent before insert on ledger_entries for each row
      when (new.state = 'intent_recorded') execute function fail_intent()`,
  );
  const mend = async (): Promise<void> => {
    await store.sql("delete from failing");
    await store.sql("delete from failing_intents");
  };
  return {
    fail: async ({ sqlstate }, from, count = 1) => {
      await mend();
      await store.sql("select setval('log_writes', 1, false)");
      await store.sql("insert into failing values ($1, $2::bigint, $2::bigint + $3::bigint - 1)", [
        sqlstate,
        from,
        count,
      ]);
    },
    failIntent: async ({ sqlstate }, tool) => {
      await mend();
      await store.sql("select setval('failed_intents', 1, false)");
      await store.sql("insert into failing_intents values ($1, $2)", [sqlstate, tool]);
    },
    mend,
  };
}
