import { join } from "node:path";
import { type ActionId, CountersignError } from "../domain/index.ts";
import type { RunEvent, RunReport } from "../run/index.ts";
import type { Demo, DemoEvent, DemoRequest } from "./demo-result.ts";
import {
  type DemoWorld,
  type DemoWorldDeps,
  environmentOf,
  maintainer,
  openDemoWorld,
  passwordFileOf,
  repository,
} from "./demo-world.ts";
import { fetchHead } from "./fetched-head.ts";
import { keepArguments, publishedByOf } from "./kept-record.ts";
import { type RunWatch, watchRun } from "./watch-run.ts";

/** A whole Countersign, as `serve` starts it. */
export type DemoCountersign = AsyncDisposable & {
  /** Where it takes deliveries. */
  readonly webhookUrl: string;
  /** Where its pages are. */
  readonly pagesUrl: string;
  /** Verifies the ledger as it is stored. */
  verify(): Promise<{ readonly size: number; readonly rootHash: string; readonly ok: boolean }>;
  /** The validated arguments of an action in canonical form; null where none are on record. */
  argumentsOf(actionId: ActionId): Promise<Uint8Array | null>;
};

export type DemoDeps = DemoWorldDeps & {
  readonly onEvent: (event: DemoEvent) => void;
  /** Starts Countersign from the variables that `serve` reads. */
  readonly openCountersign: (
    environment: Readonly<Record<string, string>>,
    onEvent: (event: RunEvent) => void,
    signal: AbortSignal,
  ) => Promise<DemoCountersign>;
};

const label = "countersign";
/** Spans come right after the run's end; where they don't, the demonstration says how many it got. */
const spansTimeoutMs = 15_000;

/**
 * Does the main job on this machine: a local GitHub, an issue in it, a real Countersign beside it, a label. Answers when the
 * run has ended, however it ended. Throws what Countersign can't start with, `DEMO_FAILED`, and the signal's reason.
 */
export async function openDemo(deps: DemoDeps, request: DemoRequest, signal: AbortSignal): Promise<Demo> {
  const startedAt = deps.clock();
  const say = (text: string): void => deps.onEvent({ kind: "step", text });
  say("making a database and a local GitHub ready");
  await using undo = new AsyncDisposableStack();
  const world = undo.use(await openDemoWorld(deps, request, signal));
  const watch = watchRun(deps.clock, deps.onEvent);
  const environment = { ...request.environment, ...environmentOf(world) };
  const countersign = undo.use(await deps.openCountersign(environment, watch.onEvent, signal));
  let isKept = false;
  undo.defer(() => {
    if (!isKept) say("clearing up");
  });
  const start = { part: "start", durationMs: deps.clock() - startedAt };
  tellWorld(deps, request, world, countersign);

  const report = await labelIssue(deps, world, { countersign, watch }, signal);
  const isHeadAsTested = await compareHead(world, report, signal);
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(spansTimeoutMs)]);
  await world.receiver.untilWhole(report.traceId, inTime);
  const { ok, size, rootHash } = await countersign.verify();
  signal.throwIfAborted();

  const publishedBy = publishedByOf(report);
  const close = undo.move();
  return {
    report,
    isHeadAsTested,
    ledger: { size, rootHash, verified: ok },
    trace: world.receiver.received(report.traceId),
    timings: [start, ...watch.timings()],
    hasSucceeded: isHeadAsTested === true && report.tests.after?.exitCode === 0 && ok,
    home: world.home.folder,
    places: placesOf(world, countersign, report),
    publishedBy,
    keep: async () => {
      await world.home.keep();
      isKept = true;
      const bytes = publishedBy === null ? null : await countersign.argumentsOf(publishedBy);
      return await keepArguments(world.home.folder, bytes);
    },
    [Symbol.asyncDispose]: () => close.disposeAsync(),
  };
}

function tellWorld(deps: DemoDeps, request: DemoRequest, world: DemoWorld, countersign: DemoCountersign): void {
  const say = (text: string): void => deps.onEvent({ kind: "step", text });
  const model = request.model === null ? "a scripted model" : `the model ${world.model.name}`;
  say(`a local GitHub at ${world.github.origin}: ${repository}, issue #${world.issue}`);
  say(`${model} at ${world.model.baseUrl}`);
  say(`Countersign at ${countersign.webhookUrl}`);
}

/** From the label to the end of the run. */
async function labelIssue(
  deps: DemoDeps,
  { github, issue, webhookSecret }: DemoWorld,
  { countersign, watch }: { readonly countersign: DemoCountersign; readonly watch: RunWatch },
  signal: AbortSignal,
): Promise<RunReport> {
  github.setWebhook({ url: countersign.webhookUrl, secret: webhookSecret });
  watch.begin();
  await github.label({ repository, number: issue }, label, maintainer);
  await github.settled();
  const delivery = github.deliveries.find(({ event, action }) => event === "issues" && action === "labeled");
  if (delivery?.statusCode !== 202) {
    const answer = delivery === undefined ? "was never sent" : `got \`${delivery.status}\``;
    throw new CountersignError("DEMO_FAILED", `the delivery of the label ${answer} instead of 202`);
  }
  deps.onEvent({ kind: "step", text: `${maintainer} labels issue #${issue} \`${label}\`: delivered, 202` });
  return await watch.ended(signal);
}

async function compareHead(
  { github, home }: DemoWorld,
  { pullRequest, patch }: RunReport,
  signal: AbortSignal,
): Promise<boolean | null> {
  if (pullRequest === null) return null;
  const url = `${github.origin}/${repository}.git`;
  const pull = { url, number: pullRequest.number, base: "main", patch };
  const head = await fetchHead(join(home.folder, "fetched"), pull, signal);
  return head.isBaseAndPatch && head.sha === pullRequest.headSha;
}

function placesOf(
  { github, home, issue, model }: DemoWorld,
  countersign: DemoCountersign,
  { pullRequest }: RunReport,
): Demo["places"] {
  return [
    { name: "issue", address: `${github.origin}/${repository}/issues/${issue}` },
    ...(pullRequest === null ? [] : [{ name: "pull request", address: pullRequest.url }]),
    { name: "git", address: `${github.origin}/${repository}.git` },
    { name: "pages", address: `${countersign.pagesUrl}, any user, password in ${passwordFileOf(home)}` },
    { name: "webhooks", address: countersign.webhookUrl },
    { name: "model", address: `${model.baseUrl}, by the name ${model.name}` },
  ];
}
