import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import {
  type ItemPlace,
  type LocalGithub,
  type LoggedRequest,
  startLocalGithub,
  startScriptedModel,
  writeSampleRepository,
} from "../../demo/index.ts";
import type { BenchPlace } from "../bench-place.ts";
import { atMost, type Figure, figure, quantile, type Size } from "../figure.ts";
import { openOwnDatabase } from "../own-database.ts";
import { type Receiver, startService, webhookPath } from "../receivers.ts";
import { startWebhookRelay, type WebhookRelay } from "../webhook-relay.ts";
import type { Row } from "./row.ts";

const sizes: Readonly<Record<Size, { readonly deliveries: number; readonly runs: number }>> = {
  short: { deliveries: 3, runs: 1 },
  bench: { deliveries: 100, runs: 3 },
  soak: { deliveries: 1_000, runs: 20 },
};

const owner = "octo-org";
const maintainer = "octo-maintainer";
const repository = `${owner}/bookings`;
const reactionRoute = /^POST .*\/issues\/\{issue_number\}\/reactions$/;
const commentRoute = /^POST .*\/issues\/\{issue_number\}\/comments$/;

/** Issue 3: what a person on GitHub waits for, and what a run asks of GitHub. */
export const webhookRow: Row = {
  name: "webhook",
  title: "one delivery to an idle service: to 202, to the first sign of life; GitHub calls of a run",
  measure: async (place, size, signal) => {
    const { deliveries, runs } = sizes[size];
    await using world = await openWorld(place, signal);
    const single: number[] = [];
    for (let round = 0; round < deliveries; round += 1) single.push(await labelForNothing(world, round));
    const watched: WatchedRun[] = [];
    for (let round = 0; round < runs; round += 1) watched.push(await watchRun(world));
    const starts = watched.map(({ acceptedMs }) => acceptedMs);
    return [
      figure("to 202, nothing is started", "ms", single),
      figure("to 202, nothing is started, 99th percentile", "ms", [quantile(single, 0.99)], atMost(50)),
      figure("to 202, a run is started", "ms", starts),
      figure("to 202, a run is started, 99th percentile", "ms", [quantile(starts, 0.99)], atMost(50)),
      figure(
        "to the reaction",
        "ms",
        watched.map(({ reactionMs }) => reactionMs),
      ),
      figure(
        "to the status comment",
        "ms",
        watched.map(({ commentMs }) => commentMs),
        atMost(1_000),
      ),
      ...callFigures(watched.map(({ calls }) => calls)),
    ];
  },
};

type World = AsyncDisposable & {
  readonly github: LocalGithub;
  readonly relay: WebhookRelay;
  readonly service: Receiver;
  readonly openIssue: () => Promise<ItemPlace>;
};

/** The whole service in a process of its own, beside a local GitHub and a scripted model in this one. */
async function openWorld(place: BenchPlace, signal: AbortSignal): Promise<World> {
  await using undo = new AsyncDisposableStack();
  const { clock, randomBytes } = place.deps;
  const { url: databaseUrl } = undo.use(await openOwnDatabase(place, "webhook", signal));
  const model = undo.use(await startScriptedModel(place.deps));
  const github = undo.use(await startLocalGithub({ clock, randomBytes, folder: join(place.folder, "github") }));
  const openIssue = await makeRepository(github, join(place.folder, "webhook-sample"), signal);
  const home = join(place.folder, "webhook-home");
  await mkdir(home);
  await chmod(home, 0o711);
  const webhookSecret = Buffer.from(randomBytes(32)).toString("hex");
  const { id, privateKey } = github.app;
  const plan = {
    home,
    databaseUrl,
    policiesFolder: await place.policiesFolder(),
    runUids: place.settings.runUids,
    webhookPath,
    role: "all",
    app: { id, privateKey, webhookSecret, apiUrl: github.apiUrl, gitUrl: github.origin },
    model: { baseUrl: model.baseUrl, name: model.model },
  } as const;
  const service = undo.use(await startService(place, plan, signal));
  const relay = undo.use(await startWebhookRelay(clock, service.url));
  github.setWebhook({ url: relay.url, secret: webhookSecret });
  const close = undo.move();
  return { github, relay, service, openIssue, [Symbol.asyncDispose]: () => close.disposeAsync() };
}

async function makeRepository(github: LocalGithub, folder: string, signal: AbortSignal): Promise<World["openIssue"]> {
  const sample = await writeSampleRepository(folder, signal);
  github.createAccount(owner, "Organization");
  github.createAccount(maintainer);
  await github.createRepository({ owner, name: "bookings", source: { kind: "git", folder } }, signal);
  github.addCollaborator(repository, maintainer, "maintain");
  const [heading = "", ...rest] = sample.issue.trim().split("\n");
  const issue = { title: heading.replace(/^#+\s*/, ""), body: rest.join("\n").trim(), by: maintainer };
  return async () => ({ repository, number: await github.openIssue(repository, issue) });
}

/** Milliseconds until it was taken. */
async function labelForNothing({ github, relay, openIssue }: World, round: number): Promise<number> {
  const issue = await openIssue();
  await github.settled(); // the service is told of the new issue too
  await github.label(issue, `question-${round}`, maintainer);
  await github.settled();
  const last = relay.relayed.at(-1);
  if (last?.status !== 202 || last.code !== "other_label") throw new Error("a measured delivery was not taken");
  return last.tookMs;
}

type WatchedRun = {
  readonly acceptedMs: number;
  readonly reactionMs: number;
  readonly commentMs: number;
  /** Routes, one for each call. */
  readonly calls: readonly string[];
};

async function watchRun({ github, relay, service, openIssue }: World): Promise<WatchedRun> {
  const issue = await openIssue();
  await github.settled();
  const before = { requests: github.requests.length, relayed: relay.relayed.length };
  await github.label(issue, "countersign", maintainer);
  const { conclusion } = (await service.next()) as { readonly conclusion: string };
  if (conclusion !== "success") throw new Error(`a measured run ended as ${conclusion}`);
  await github.settled();
  const delivery = relay.relayed.slice(before.relayed).find(({ code }) => code === "done");
  if (delivery === undefined) throw new Error("the measured label was not taken");
  const requests = github.requests.slice(before.requests);
  const since = (route: RegExp): number =>
    (requests.find((one) => route.test(one.route))?.atMs ?? Number.NaN) - delivery.sentAtMs;
  return {
    acceptedMs: delivery.tookMs,
    reactionMs: since(reactionRoute),
    commentMs: since(commentRoute),
    calls: requests.map(({ route }: LoggedRequest) => route),
  };
}

/**
 * All calls, git's own included, then each route. Edits of the status comment that come close together are made as one, so
 * that their number, and with it the sum, depends on the machine; the first run of a process gets its tokens besides.
 */
function callFigures(calls: readonly (readonly string[])[]): readonly Figure[] {
  const total = calls.map(({ length }) => length);
  const routes = [...new Set(calls.flat())].sort();
  return [
    figure("GitHub calls of a run that fixes one file", "calls", total),
    figure("GitHub calls of the run with most of them", "calls", [Math.max(...total)], atMost(40)),
    ...routes.map((route) => {
      const counts = calls.map((one) => one.filter((called) => called === route).length);
      return figure(`  ${route}`, "calls", counts);
    }),
  ];
}
