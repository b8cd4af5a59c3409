import { type Clock, CountersignError, type ErrorCode, isCountersignError, type JsonObject } from "../domain/index.ts";
import { probeLog, type SpoolReading } from "../ledger/index.ts";
import { readKillSwitch, type Store } from "../store/index.ts";

type HealthDeps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly readSpools: () => Promise<SpoolReading>;
};

/** Whether work can be accepted, and what is known about that: no secrets, no names. */
export type Health = { readonly isReady: boolean; readonly facts: JsonObject };

/** Probes the log until it is disposed. `now` answers also where the database does not. */
export type HealthWatch = AsyncDisposable & { readonly now: () => Promise<Health> };

/** An outage shows within two of these (AUD-59: 5 s), and so does its end. */
const lookEveryMs = 1_000;
const probeLimitMs = 2_000;
/** For a server that does not even say that its limit is over. */
const limitMs = 3_000;

/** The log as the last probe found it. */
type Log =
  | { readonly state: "ok"; readonly size: number }
  | { readonly state: "unavailable"; readonly code: ErrorCode; readonly since: string };

/** Begins with a first probe, and makes one more each second. */
export async function watchHealth(deps: HealthDeps): Promise<HealthWatch> {
  let log: Log = await look(deps, null);
  let looking: Promise<void> | null = null;
  const again = async (): Promise<void> => {
    log = await look(deps, log);
    looking = null;
  };
  const timer = setInterval(() => {
    looking ??= again();
  }, lookEveryMs);
  timer.unref();
  return {
    now: () => describe(deps, log),
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await looking;
    },
  };
}

/** What can't be read in time is a reason not to be ready. Never throws. */
async function describe(deps: HealthDeps, log: Log): Promise<Health> {
  const spool = await deps.readSpools().then(
    ({ records, torn }) => ({ outcomes: records.length, torn: torn.length }),
    () => "unreadable",
  );
  const facts = { ledger: { ...log }, spool };
  if (log.state !== "ok") return { isReady: false, facts: { reason: "ledger_unavailable", ...facts } };
  try {
    return { isReady: true, facts: { ...facts, ...(await inTime(readStored(deps))) } };
  } catch (error) {
    const isSwitch = isCountersignError(error, "KILL_SWITCH_UNREADABLE");
    return { isReady: false, facts: { reason: isSwitch ? "kill_switch_unreadable" : "ledger_unavailable", ...facts } };
  }
}

/** A probe that is not answered in time found an outage as well. Never throws. */
async function look({ store, clock }: HealthDeps, before: Log | null): Promise<Log> {
  try {
    const { sizeEntries } = await inTime(probeLog(store, probeLimitMs));
    return { state: "ok", size: sizeEntries };
  } catch (error) {
    if (before?.state === "unavailable") return before;
    const code = isCountersignError(error) ? error.code : "LEDGER_UNAVAILABLE";
    return { state: "unavailable", code, since: new Date(clock()).toISOString() };
  }
}

async function inTime<Value>(work: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new CountersignError("LEDGER_UNAVAILABLE", "no answer in time")), limitMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function readStored({ store, clock }: HealthDeps): Promise<JsonObject> {
  const [{ isPaused }, runs, oldest, unknown] = await Promise.all([
    readKillSwitch(store.db),
    store.db
      .selectFrom("runs")
      .select((row) => ["status", row.fn.countAll<string>().as("count")])
      .where("status", "!=", "completed")
      .groupBy("status")
      .execute(),
    store.db
      .selectFrom("span_outbox")
      .select((row) => row.fn.min("created_at").as("at"))
      .where("state", "=", "pending")
      .executeTakeFirst(),
    store.db
      .selectFrom("actions")
      .select((row) => row.fn.countAll<string>().as("count"))
      .where("state", "in", ["unknown", "reconciling", "reconcile_inconclusive"])
      .executeTakeFirst(),
  ]);
  const outboxAgeMs = oldest?.at == null ? 0 : Math.max(0, clock() - Date.parse(oldest.at));
  return {
    paused: isPaused,
    runs: Object.fromEntries(runs.map(({ status, count }) => [status, Number(count)])),
    outboxAgeSeconds: Math.round(outboxAgeMs / 1000),
    openUnknowns: Number(unknown?.count ?? 0),
  };
}
