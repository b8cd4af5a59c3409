import { generateKeyPair } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { alternate } from "../alternate.ts";
import type { BenchPlace } from "../bench-place.ts";
import { atLeast, atMost, equal, type Figure, figure, quantile, ratio, type Size } from "../figure.ts";
import type { FloorDatabase } from "../floor-database.ts";
import { type Loaded, sendLoad } from "../load.ts";
import { openOwnDatabase } from "../own-database.ts";
import { startPermissionServer } from "../permission-server.ts";
import {
  type ProbotPlan,
  type Receiver,
  type ServicePlan,
  startProbot,
  startService,
  webhookPath,
} from "../receivers.ts";
import type { DeliveryKind, DeliverySeed } from "../sample-delivery.ts";
import type { Row } from "./row.ts";

type Extent = {
  readonly rounds: number;
  /** Deliveries of each load before the first round. */
  readonly warmUp: number;
  readonly count: number;
  /** Of deliveries that start a run, which take much longer. */
  readonly starts: number;
  readonly connections: number;
};

const sizes: Readonly<Record<Size, Extent>> = {
  short: { rounds: 1, warmUp: 0, count: 30, starts: 10, connections: 5 },
  bench: { rounds: 3, warmUp: 100, count: 600, starts: 200, connections: 50 },
  soak: { rounds: 5, warmUp: 1_000, count: 20_000, starts: 5_000, connections: 50 },
};

/** `performance.md` section 2: taking deliveries beside Probot's own server, which keeps nothing. */
export const intakeRow: Row = {
  name: "intake",
  title: "taking deliveries beside Probot's own server, and what a kill loses",
  measure: async (place, size, signal) => {
    await using bench = await openIntakeBench(place, size, signal);
    const measured = await measureLoads(bench);
    const lost = await countLost(bench);
    return [...rateFigures(measured), ...ratioFigures(measured), ...lost];
  },
};

type IntakeBench = AsyncDisposable & {
  readonly place: BenchPlace;
  readonly size: Extent;
  readonly signal: AbortSignal;
  readonly secret: string;
  readonly database: FloorDatabase;
  readonly receivers: { readonly empty: Receiver; readonly insert: Receiver; readonly ours: Receiver };
  readonly startOurs: () => Promise<Receiver>;
};

async function openIntakeBench(place: BenchPlace, size: Size, signal: AbortSignal): Promise<IntakeBench> {
  await using undo = new AsyncDisposableStack();
  const { clock, randomBytes } = place.deps;
  const database = undo.use(await openOwnDatabase(place, "intake", signal));
  const { apiUrl } = undo.use(await startPermissionServer(clock));
  const privateKey = await newPrivateKey();
  const webhookSecret = Buffer.from(randomBytes(32)).toString("hex");
  const probot: ProbotPlan = { appId: 4711, privateKey, webhookSecret, webhookPath, databaseUrl: null };
  const home = join(place.folder, "intake-home");
  await mkdir(home);
  const plan: ServicePlan = {
    home,
    databaseUrl: database.url,
    policiesFolder: await place.policiesFolder(),
    runUids: null,
    webhookPath,
    role: "web",
    app: { id: 4711, privateKey, webhookSecret, apiUrl, gitUrl: apiUrl },
    model: { baseUrl: apiUrl, name: "none" },
  };
  const receivers = {
    empty: undo.use(await startProbot(place, probot, signal)),
    insert: undo.use(await startProbot(place, { ...probot, databaseUrl: database.url }, signal)),
    ours: undo.use(await startService(place, plan, signal)),
  };
  const close = undo.move();
  return {
    place,
    size: sizes[size],
    signal,
    secret: webhookSecret,
    database,
    receivers,
    startOurs: () => startService(place, plan, signal),
    [Symbol.asyncDispose]: () => close.disposeAsync(),
  };
}

async function newPrivateKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 2048 });
  return privateKey.export({ type: "pkcs1", format: "pem" }).toString();
}

const contenders = ["empty", "insert", "ignored", "ignoredAgain", "started", "startedAgain"] as const;
type Measured = Readonly<Record<(typeof contenders)[number], readonly Loaded[]>>;

/** What a new delivery of a kind is answered with by the product. */
const answerTo: Readonly<Record<DeliveryKind, string>> = { other_label: "202 other_label", trigger: "202 done" };

async function measureLoads(bench: IntakeBench): Promise<Measured> {
  const { size, signal, receivers } = bench;
  const { empty, insert, ours } = receivers;
  const loads = (count: number, starts: number) => {
    const kept = new Map<DeliveryKind, DeliverySeed>();
    const send = (receiver: Receiver, seed: DeliverySeed, answers: readonly string[]): Promise<Loaded> =>
      sendAll(bench, receiver, { seed, count: seed.kind === "trigger" ? starts : count, answers });
    const anew = (kind: DeliveryKind) => {
      const seed = newSeed(bench.place, kind);
      kept.set(kind, seed);
      return send(ours, seed, [answerTo[kind]]);
    };
    // What could not be stored at first is new when it comes again.
    const again = (kind: DeliveryKind) =>
      send(ours, kept.get(kind) ?? newSeed(bench.place, kind), ["202 duplicate_delivery", answerTo[kind]]);
    const floor = (receiver: Receiver) => send(receiver, newSeed(bench.place, "other_label"), ["200"]);
    return {
      empty: () => floor(empty),
      insert: () => floor(insert),
      ignored: () => anew("other_label"),
      ignoredAgain: () => again("other_label"),
      started: () => anew("trigger"),
      startedAgain: () => again("trigger"),
    };
  };
  if (size.warmUp > 0) await alternate(loads(size.warmUp, size.warmUp), 1, signal);
  return alternate(loads(size.count, size.starts), size.rounds, signal);
}

const newSeed = ({ deps }: BenchPlace, kind: DeliveryKind): DeliverySeed => ({
  kind,
  seed: Buffer.from(deps.randomBytes(8)).toString("hex"),
  at: new Date(deps.clock()).toISOString(),
});

/** What a machine that is too slow for so many connections gives: it is counted, and no part of the rate. */
const overload = "500 LEDGER_UNAVAILABLE";

type Sending = { readonly seed: DeliverySeed; readonly count: number; readonly answers: readonly string[] };

/** Throws where other answers were given than those that this load is about. */
async function sendAll(
  { place, size, secret, signal }: IntakeBench,
  { url, complaint }: Receiver,
  { seed, count, answers }: Sending,
): Promise<Loaded> {
  place.deps.progress(`intake: ${count} deliveries that are answered with ${answers[0]}`);
  const plan = { url, secret, deliveries: [seed], count, connections: size.connections, announceAt: null };
  const loaded = await sendLoad(place, plan, signal);
  const wrong = Object.keys(loaded.answers).filter((one) => one !== overload && !answers.includes(one));
  if (wrong.length === 0 && loaded.broken === 0 && loaded.accepted.length > count / 2) return loaded;
  throw new Error(`deliveries were answered with ${JSON.stringify(loaded.answers)}\n${complaint()}`);
}

const rates = (loads: readonly Loaded[]): number[] => loads.map(({ accepted, seconds }) => accepted.length / seconds);
const slowest = (loads: readonly Loaded[]): number[] => loads.map(({ latenciesMs }) => quantile(latenciesMs, 0.99));
const refusals = (loads: readonly Loaded[]): number[] => loads.map(({ answers }) => answers[overload] ?? 0);

const titles: Readonly<Record<(typeof contenders)[number], string>> = {
  empty: "Probot, empty handler",
  insert: "Probot, one insert a delivery",
  ignored: "delivery that starts nothing",
  ignoredAgain: "its redelivery",
  started: "delivery that starts a run",
  startedAgain: "redelivery of one that did",
};

const rateFigures = (measured: Measured): readonly Figure[] =>
  contenders.flatMap((name) => [
    figure(titles[name], "1/s", rates(measured[name])),
    figure(`${titles[name]}, 99th percentile`, "ms", slowest(measured[name])),
  ]);

function ratioFigures({ insert, ignored, ignoredAgain, started, startedAgain }: Measured): readonly Figure[] {
  return [
    ratio("starts nothing / insert, rate", rates(ignored), rates(insert), atLeast(0.8)),
    ratio("starts nothing / insert, 99th percentile", slowest(ignored), slowest(insert), atMost(1)),
    ratio("redelivery / new, starts nothing, rate", rates(ignoredAgain), rates(ignored), atLeast(1.5)),
    ratio("redelivery / new, starts a run, rate", rates(startedAgain), rates(started), atLeast(1.5)),
    ratio("starts a run / insert, rate", rates(started), rates(insert), atLeast(0.3)),
    figure("could not be stored in time, starts nothing", "deliveries", refusals(ignored)),
    figure("could not be stored in time, starts a run", "deliveries", refusals(started)),
  ];
}

/** More than is sent before the kill: the load ends because nobody answers any more. */
const endless = 1_000_000;

/** A delivery that was kept whole: its row, and where it started a run, that run with its job. */
const keptDeliveries = `select d.delivery_id from deliveries d where d.delivery_id = any($1) and (d.result <> 'started' or
  exists (select from runs r join pgboss.job j on j.name = 'run' and j.data ->> 'runId' = r.run_id::text
    where r.run_id = d.run_id))`;

/** A service is ended by SIGKILL under load; each delivery that it had answered with 2xx must be there. */
async function countLost(bench: IntakeBench): Promise<readonly Figure[]> {
  const { place, secret, signal, database, size, startOurs } = bench;
  await using receiver = await startOurs();
  const deliveries = [newSeed(place, "other_label"), newSeed(place, "trigger")];
  const announceAt = size.starts;
  const { url } = receiver;
  const plan = { url, secret, deliveries, count: endless, connections: size.connections, announceAt };
  const { accepted, broken } = await sendLoad(place, plan, signal, () => receiver.kill());
  if (broken === 0) throw new Error("the load ended before the service did");
  const kept = await database.query(keptDeliveries, [accepted]);
  return [
    figure("answered with 202 before the kill", "deliveries", [accepted.length]),
    figure("lost of them", "deliveries", [accepted.length - kept.length], equal(0)),
  ];
}
