import { CountersignError, isCountersignError, type RunId } from "../domain/index.ts";
import type { Transaction } from "./database.ts";

/** The operator's kill switch (SEC-5): one row, the same for every process on the database. `since`: ISO 8601. */
export type KillSwitch = { readonly isPaused: boolean; readonly since: string };

type Reader = Pick<Transaction, "selectFrom">;

/** Reads the row. Throws `KILL_SWITCH_UNREADABLE` where there is none, and what an outage throws: then nothing may start. */
export async function readKillSwitch(db: Reader): Promise<KillSwitch> {
  const row = await orUnreadable(() =>
    db.selectFrom("service_state").select(["paused", "changed_at"]).executeTakeFirst(),
  );
  return { isPaused: row.paused, since: row.changed_at };
}

/** Why a run may start no further action, as the database has it now: all are paused, or this one is to stop. */
export type Halt = "paused" | "stop_requested";

/** Asked before each action (SEC-5, GH-50); null where it may start. Throws `KILL_SWITCH_UNREADABLE`. */
export async function readHalt(db: Reader, runId: RunId): Promise<Halt | null> {
  const row = await orUnreadable(() =>
    db
      .selectFrom("service_state")
      .select([
        "paused",
        (eb) => eb.selectFrom("runs").select("stop_requested_at").where("run_id", "=", runId).as("stopRequestedAt"),
      ])
      .executeTakeFirst(),
  );
  if (row.paused) return "paused";
  return row.stopRequestedAt === null ? null : "stop_requested";
}

/** Reads what begins with the row. Throws `KILL_SWITCH_UNREADABLE` where nothing was read, and what an outage throws. */
export async function orUnreadable<Row>(read: () => Promise<Row | undefined>): Promise<Row> {
  const unreadable = (cause?: unknown): CountersignError =>
    new CountersignError("KILL_SWITCH_UNREADABLE", "whether all is paused can't be read, so nothing starts", { cause });
  const row = await read().catch((error: unknown) => {
    throw isCountersignError(error) ? error : unreadable(error);
  });
  if (row === undefined) throw unreadable();
  return row;
}

/** Sets the row, and makes it where it is gone. `atIso`: ISO 8601. */
export async function setKillSwitch(tx: Transaction, isPaused: boolean, atIso: string): Promise<void> {
  const state = { paused: isPaused, changed_at: atIso };
  await tx
    .insertInto("service_state")
    .values(state)
    .onConflict((conflict) => conflict.column("singleton").doUpdateSet(state))
    .execute();
}
