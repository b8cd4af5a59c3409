import { isCountersignError, type LedgerEntry } from "../domain/index.ts";
import { type Job, type Writer, writeJob } from "./write-job.ts";

/** How many may share a transaction. */
const togetherAtMost = 64;

type Waiting = {
  readonly job: Job;
  readonly resolve: (entries: readonly LedgerEntry[]) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Lets the jobs of a process be written one after the other, in the order in which they come. Those without a lease that wait
 * for the same turn are written as one: under load a commit is shared by many deliveries.
 */
export function takeTurns(writer: Writer): (job: Job) => Promise<readonly LedgerEntry[]> {
  let turn: Promise<unknown> = Promise.resolve();
  let waiting: Waiting[] = [];
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = turn.then(work);
    turn = done.catch(() => undefined);
    return done;
  };
  const writeWaiting = async (): Promise<void> => {
    const together = waiting;
    waiting = [];
    await writeTogether(writer, together);
  };
  return (job) => {
    if (job.lease !== null) return inTurn(() => writeJob(writer, job));
    const { promise, resolve, reject } = Promise.withResolvers<readonly LedgerEntry[]>();
    waiting.push({ job, resolve, reject });
    if (waiting.length === 1) void inTurn(writeWaiting);
    return promise;
  };
}

/** Never throws: each is told its own. Where one is the cause that none was written, each gets a transaction of its own. */
async function writeTogether(writer: Writer, all: readonly Waiting[]): Promise<void> {
  for (let from = 0; from < all.length; from += togetherAtMost) {
    const some = all.slice(from, from + togetherAtMost);
    const isWritten = some.length > 1 && (await writeAsOne(writer, some));
    if (isWritten) continue;
    for (const { job, resolve, reject } of some) await writeJob(writer, job).then(resolve, reject);
  }
}

/** False: nothing was written, and it was one of them that is to blame. */
async function writeAsOne(writer: Writer, some: readonly Waiting[]): Promise<boolean> {
  try {
    const entries = await writeJob(writer, joined(some.map(({ job }) => job)));
    // An entry about the clock may stand before all of them.
    let from = entries.length - some.reduce((sum, { job }) => sum + job.entries.length, 0);
    for (const { job, resolve } of some) {
      resolve(entries.slice(from, from + job.entries.length));
      from += job.entries.length;
    }
    return true;
  } catch (error) {
    // After an outage nobody knows whether they are there: a second try could record them twice.
    if (!isCountersignError(error, "LEDGER_UNAVAILABLE")) return false;
    for (const { reject } of some) reject(error);
    return true;
  }
}

function joined(jobs: readonly Job[]): Job {
  let from = 0;
  const fields = jobs.flatMap((job) => {
    const shift = from;
    from += job.entries.length;
    return job.fields.map((field) => ({ ...field, at: field.at + shift }));
  });
  const withins = jobs.flatMap(({ within }) => within ?? []);
  return {
    lease: null,
    entries: jobs.flatMap(({ entries }) => entries),
    fields,
    within:
      withins.length === 0
        ? null
        : async (tx) => {
            for (const within of withins) await within(tx);
          },
  };
}
