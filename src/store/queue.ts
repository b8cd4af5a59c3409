import { setTimeout as delay } from "node:timers/promises";
import type { ConstructorOptions, PgBoss } from "pg-boss";
import { CountersignError, type JsonObject } from "../domain/index.ts";
import type { Transaction } from "./database.ts";

/** Jobs on the same database, so that accepting something and enqueueing its work is one transaction. */
export type Queue = {
  /**
   * Adds a job within the transaction and returns its id: rolled back, nothing was enqueued. `data` is kept in clear for a
   * week and belongs into no ledger: ids only.
   */
  enqueue(tx: Transaction, name: string, data: JsonObject, options?: EnqueueOptions): Promise<string>;
  /**
   * Takes jobs one at a time until the signal is aborted, and returns when the job in hand has ended. No two workers, on
   * any machine, have the same job at once. A job whose handler throws, or whose worker is gone, comes again later, with
   * rising pauses; what it did before must therefore be found in the ledger. The handler's signal is also aborted where
   * the job was lost to another worker.
   */
  work(name: string, handler: JobHandler, signal: AbortSignal): Promise<void>;
};

export type EnqueueOptions = {
  /** Not taken before that much time has gone by; whole seconds count. */
  readonly startAfterMs?: number;
  /** At most one job of a name waits under a key: where there is one, that one gets the new data and time. */
  readonly key?: string;
  /** Nobody else can know the key yet, so that no job waits under it: none is looked for. */
  readonly isFirst?: boolean;
  /** Waiting jobs with the higher number are taken first; 0 where nothing is said. */
  readonly priority?: number;
};

export type JobHandler = (data: JsonObject, signal: AbortSignal) => Promise<void>;

/** pg-boss's own tables, apart from ours. */
const schema = "pgboss";
/**
 * Polling is what is relied on; LISTEN only makes it quicker, and may fail behind a connection pooler. While it listens,
 * pg-boss polls every 30 s by default: but nobody is notified when a job that waits becomes due, and but once of many jobs.
 */
const polling = { pollingIntervalSeconds: 2, notifyPollingIntervalSeconds: 2 };
/** A worker that was killed is noticed within this time and a monitoring round. Ten seconds is pg-boss's lowest. */
const heartbeatSeconds = 30;
const monitorIntervalSeconds = 15;

const queueOptions = {
  heartbeatSeconds,
  /** The longest pg-boss takes. A run has its own limits; a hung worker is found by its heartbeat. */
  expireInSeconds: 24 * 60 * 60,
  retryLimit: 20,
  retryDelay: 5,
  retryBackoff: true,
  retryDelayMax: 300,
  notify: true,
};

/** A job in hand at the end gets this long; then it is given back. */
const stopTimeoutMs = 30_000;
/** A frozen server does not even take leave: it is not waited for at the end. */
const leaveTimeoutMs = stopTimeoutMs + 5_000;
/** Passed on to the driver, whose own default is to wait for ever: a poll that is never answered would be the last one. */
const driverOptions = { query_timeout: 60_000, keepAlive: true };

type QueueDeps = { notice(line: string): void };

/** A started queue; `stop` waits for the jobs in hand. */
export type StartedQueue = Queue & { stop(): Promise<void> };

export async function startQueue(deps: QueueDeps, databaseUrl: string): Promise<StartedQueue> {
  const { fromKysely, PgBoss: Boss } = await import("pg-boss"); // what reads records alone is spared the loading
  const boss = new Boss(bossOptions(databaseUrl));
  tellTroubles(deps, boss);
  await boss.start().catch((cause: unknown) => unavailable(cause));
  const made = new Map<string, Promise<void>>();
  const makeQueue = (name: string): Promise<void> => {
    const making = made.get(name) ?? boss.createQueue(name, queueOptions).catch((cause: unknown) => unavailable(cause));
    made.set(name, making);
    making.catch(() => made.delete(name));
    return making;
  };

  return {
    enqueue: async (tx, name, data, { startAfterMs = 0, key, isFirst = false, priority = 0 } = {}) => {
      await makeQueue(name);
      const keyed = key === undefined ? {} : { singletonKey: key };
      const options = { db: fromKysely(tx), startAfter: Math.ceil(startAfterMs / 1000), priority, ...keyed };
      if (key === undefined || isFirst) return taken(name, await boss.send(name, data, options));
      // A waiting job that a worker takes at this moment is neither there to be changed nor gone: asked again, it is one of the two.
      for (let tries = 1; ; tries += 1) {
        const [id] = (await boss.upsert(name, data, options)).jobs;
        if (id !== undefined || tries === upsertTries) return taken(name, id);
      }
    },
    work: async (name, handler, signal) => {
      signal.throwIfAborted();
      await makeQueue(name);
      const id = await boss
        .work<JsonObject>(name, { batchSize: 1, ...polling }, async ([job]) => {
          if (job === undefined) return;
          signal.throwIfAborted();
          await handler(job.data, AbortSignal.any([signal, job.signal]));
        })
        .catch((cause: unknown) => unavailable(cause));
      await untilAborted(signal);
      await boss.offWork(name, { id, wait: true });
    },
    stop: () =>
      Promise.race([
        boss.stop({ graceful: true, timeout: stopTimeoutMs }),
        delay(leaveTimeoutMs, undefined, { ref: false }),
      ]),
  };
}

const upsertTries = 3;

function taken(name: string, id: string | null | undefined): string {
  if (id == null) throw new Error(`the queue \`${name}\` took no job`);
  return id;
}

const bossOptions = (databaseUrl: string): ConstructorOptions => ({
  ...driverOptions,
  connectionString: databaseUrl,
  schema,
  application_name: "countersign queue",
  max: 4,
  schedule: false,
  useListenNotify: true,
  monitorIntervalSeconds,
  // Spans and metrics of ours have names and content of our own choice (AUD-75, AUD-76).
  openTelemetry: { enabled: false },
});

/** A lost database fails every poll: it is said once. */
function tellTroubles(deps: QueueDeps, boss: PgBoss): void {
  let lastTrouble = "";
  boss.on("error", ({ message }) => {
    if (message !== lastTrouble) deps.notice(`the queue has trouble: ${message}`);
    lastTrouble = message;
  });
}

function unavailable(cause: unknown): never {
  const reason = cause instanceof Error ? cause.message : "no answer";
  throw new CountersignError("LEDGER_UNAVAILABLE", `the queue can't be used: ${reason}`, { cause });
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done();
    else signal.addEventListener("abort", () => done(), { once: true });
  });
}
