import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isCountersignError, newActionId } from "../../domain/index.ts";
import { perform } from "../../gateway/index.ts";
import { isAfterEffect } from "../../ledger/index.ts";
import { isAlive, openStore, startTimeOf } from "../../store/index.ts";
import type { BenchPlace } from "../bench-place.ts";
import { atMost, equal, type Figure, figure, type Size } from "../figure.ts";
import { type OpenedGateway, openGateway } from "../open-gateway.ts";
import type { Row } from "./row.ts";

const sizes: Readonly<Record<Size, number>> = { short: 1, bench: 20, soak: 200 };
/** AUD-59. */
const goal = atMost(1_000);

/**
 * AUD-59: a worker acts all the time, and the database server is stopped at once or frozen in the midst of it. Comes last: other
 * rows' connections do not outlive it.
 */
export const outageRow: Row = {
  name: "outage",
  title: "from an outage of the log to the first effect that is refused",
  measure: async (place, size, signal) => {
    await using gateway = await openGateway(place, signal);
    const worker: Worker = { place, gateway, actions: 0 };
    const stopped: Refusal[] = [];
    const frozen: Refusal[] = [];
    for (let round = 0; round < sizes[size]; round += 1) {
      frozen.push(await place.progress.part(`outage/frozen/${round}`, () => whileFrozen(worker, signal)));
      stopped.push(await place.progress.part(`outage/stopped/${round}`, () => whileStopped(worker, signal)));
    }
    const times = (name: string, of: readonly Refusal[]): Figure =>
      figure(
        name,
        "ms",
        of.map(({ afterMs }) => afterMs),
        goal,
      );
    const done = [...stopped, ...frozen].filter(({ isDone }) => isDone).length;
    return [
      times("the server is stopped at once", stopped),
      times("the server is frozen", frozen),
      figure("refused and done all the same", "calls", [done], equal(0)),
    ];
  },
};

type Worker = { readonly place: BenchPlace; readonly gateway: OpenedGateway; actions: number };

/** `isDone`: its effect was there in spite of it. */
type Refusal = { readonly afterMs: number; readonly isDone: boolean };

async function whileFrozen(worker: Worker, signal: AbortSignal): Promise<Refusal> {
  const server = serverPid(worker.place);
  const stopped: number[] = [];
  const freeze = (): void => {
    process.kill(server, "SIGSTOP"); // first, so that it makes no more children
    stopped.push(server, ...childrenOf(server));
    for (const pid of stopped) send(pid, "SIGSTOP");
  };
  try {
    return await refusedAfter(worker, freeze, signal);
  } finally {
    for (const pid of stopped) send(pid, "SIGCONT");
  }
}

/** A server's child may end at any moment. */
function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function whileStopped(worker: Worker, signal: AbortSignal): Promise<Refusal> {
  const { place } = worker;
  const pid = serverPid(place);
  const startTime = startTimeOf(pid) ?? 0;
  const refusal = await refusedAfter(worker, () => process.kill(pid, "SIGQUIT"), signal);
  while (isAlive(pid, startTime)) await delay(10);
  // Whoever opens the store where its server has ended starts it again, at the same port.
  await using _again = await openStore(place.deps, { databaseUrl: null, home: place.home, databaseUid: null }, signal);
  return refusal;
}

/** PostgreSQL keeps it in the first line of that file. */
const serverPid = ({ home }: BenchPlace): number =>
  Number.parseInt(readFileSync(join(home, "database/cluster/postmaster.pid"), "utf8"), 10);

const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);

/** The outage falls anywhere in an action. */
async function refusedAfter(worker: Worker, outage: () => void, signal: AbortSignal): Promise<Refusal> {
  while (!(await act(worker, signal)).isOk) await delay(50); // the outage before it is over
  const refused = actUntilRefused(worker, signal);
  refused.catch(() => undefined); // awaited below
  const [byte = 0] = worker.place.deps.randomBytes(1);
  await delay(50 + byte);
  const startedAt = performance.now();
  outage();
  const { at, isDone } = await refused;
  if (at < startedAt) throw new Error("an action was refused before there was an outage");
  return { afterMs: at - startedAt, isDone };
}

type Act = { readonly at: number; readonly isOk: boolean; readonly isDone: boolean };

/** An effect that was begun before the outage is none that is refused: its outcome is in the spool, and the next one counts. */
async function actUntilRefused(worker: Worker, signal: AbortSignal): Promise<Act> {
  for (;;) {
    const acted = await act(worker, signal);
    if (!acted.isOk) return acted;
  }
}

/** `isOk`: it was not refused for want of a record. */
async function act(worker: Worker, signal: AbortSignal): Promise<Act> {
  signal.throwIfAborted();
  const { deps, run } = worker.gateway;
  worker.actions += 1;
  const path = `outage-${worker.actions}.txt`;
  const proposed = {
    actionId: newActionId(worker.place.deps),
    runId: run.runId,
    principal: { kind: "run", runId: run.runId },
    tool: "create_file",
    rawArguments: JSON.stringify({ path, content: "measured\n" }),
    call: null,
    compensates: null,
  } as const;
  const end = await perform(deps, run, proposed, signal).catch((error: unknown) => {
    if (!isCountersignError(error, "LEDGER_UNAVAILABLE")) throw error;
    return error;
  });
  const at = performance.now();
  if ("status" in end && end.status !== "ok") throw new Error(`an action was refused by rule: ${end.text}`);
  const isDone = (await run.workspace.readFile(path, 1_024)).kind === "file";
  return { at, isOk: "status" in end || isAfterEffect(end), isDone };
}
