import { join } from "node:path";
import type { CountersignError, Secret } from "../domain/index.ts";
import { createCatalogue } from "../gateway/index.ts";
import { type Github, openGithub } from "../github/index.ts";
import { createIntake, type Intake, intakeTimes } from "../intake/index.ts";
import { readSpools } from "../ledger/index.ts";
import { digestOperatorSettings, loadOperatorSettings, type OperatorSettings } from "../policy/index.ts";
import { defaultLeaseTimes, type GithubRunDeps, type RunEvent, workOnJobs } from "../run/index.ts";
import { type PageSettings, startPages } from "../web/index.ts";
import { requireConfinement } from "../workspace/index.ts";
import { askForMissed } from "./ask-for-missed.ts";
import { delay } from "./delay.ts";
import { requirePermissions } from "./examine-github.ts";
import { openRecords, type Records } from "./open-records.ts";
import { loadPolicySet, openRuns, type RunSettings } from "./open-runs.ts";
import { freeBytes, leastFreeBytes, openOutagePolicy } from "./outage-policy.ts";
import { recordService, recordSettings } from "./record-settings.ts";
import type { CountersignDeps } from "./settings.ts";
import { watchHealth } from "./watch-health.ts";
import { runsAtOnce, workspaceDepsOf } from "./workspace-hands.ts";

/** The settings of the service, as plain values. */
export type ServiceSettings = RunSettings & {
  readonly github: {
    readonly appId: number;
    readonly privateKey: Secret;
    readonly webhookSecret: Secret;
    /** Accepted too, during a rotation. */
    readonly webhookSecretPrevious: Secret | null;
    readonly apiUrl: string;
    readonly gitUrl: string;
  };
  readonly webhookPath: string;
  /** 0: a free one. */
  readonly port: number;
  readonly host: string;
  readonly role: "all" | "web" | "worker";
  readonly publicUrl: string | null;
  /** Absent: this process shows no pages. */
  readonly pages?: Pick<PageSettings, "port" | "token">;
  /** For tests: what else is `leastFreeBytes` of the outage policy. */
  readonly leastFreeBytes?: number;
  /** For tests: how long things take that are else seconds and minutes. */
  readonly pace?: Partial<Pace>;
};

/** What takes its time on purpose. */
type Pace = GithubRunDeps["times"] & {
  readonly requestTimeoutMs: number;
  readonly writeIntervalMs: number;
  readonly lookIntervalMs: number;
  readonly lookPausesMs?: readonly number[];
};
const defaultPace: Pace = {
  ...defaultLeaseTimes,
  stopPollMs: 1_000,
  requestTimeoutMs: 30_000,
  writeIntervalMs: 1_000,
  lookIntervalMs: 5_000,
};

/** A running service. Disposing takes no more deliveries, gives back the runs under way, and ends. */
export type Service = AsyncDisposable & {
  /** Null where this process takes no webhooks. */
  readonly port: number | null;
  readonly webhookUrl: string | null;
  /** Null where there are none. */
  readonly pagesUrl: string | null;
  /** Resolves with why, where the operator wants the service to end for an outage of the log (AUD-52). */
  readonly givenUp: Promise<CountersignError>;
  readonly parts: readonly { readonly name: string; readonly detail: string }[];
};

export type ServiceHooks = {
  readonly onEvent: (event: RunEvent) => void;
  /** A line and the error behind it; never a text of a payload. */
  readonly onTrouble: (line: string, error: unknown) => void;
};

/**
 * Starts what this process is for: webhooks, runs, or both. Throws what keeps a part from starting, and then leaves nothing
 * behind: `CONFIG_INVALID`, the `GITHUB_` codes of a GitHub that does not know this App, what database and sandbox throw.
 */
export async function openService(
  deps: CountersignDeps,
  settings: ServiceSettings,
  hooks: ServiceHooks,
  signal: AbortSignal,
): Promise<Service> {
  await using undo = new AsyncDisposableStack();
  const pace = { ...defaultPace, ...settings.pace };
  const openOurs = (markerKey: Uint8Array): Github =>
    openGithub(
      { clock: deps.clock, delay, redactor: deps.redactor },
      { ...settings.github, markerKey, ...pickGithubPace(pace) },
    );
  const records = undo.use(await openPart(deps, { ...settings, openGithub: openOurs }, hooks, signal));
  await recordService(records.ledger, "service_started", settings.role);
  undo.defer(() =>
    recordService(records.ledger, "service_stopped", settings.role).catch((error: unknown) =>
      hooks.onTrouble("the stop of the service is not on record", error),
    ),
  );
  const github = records.runs?.github ?? openOurs(records.keys.markerKey);
  const app = await github.app(signal);
  requirePermissions(app, deps.notice);
  const givenUp =
    records.runs === null ? never() : startRuns({ github, hooks, pace }, records.runs, settings, { undo, signal });
  const port =
    settings.role === "worker" ? null : await startIntake({ deps, records, github, hooks, app }, settings, undo);
  const pages = settings.role === "worker" ? null : await openPages({ deps, records, hooks }, settings, undo);
  const webhookUrl = port === null ? null : `http://${hostInUrl(settings.host)}:${port}${settings.webhookPath}`;
  const close = undo.move();
  return {
    port,
    webhookUrl,
    pagesUrl: pages?.url ?? null,
    parts: [
      { name: "github", detail: `${settings.github.apiUrl}, as ${app.name} (App ${app.id})` },
      { name: "database", detail: `${records.store.address} (${records.store.kind})` },
      ...(webhookUrl === null ? [] : [{ name: "webhooks", detail: webhookUrl }]),
      ...(pages === null ? [] : [{ name: "pages", detail: pages.detail }]),
      ...(records.runs === null ? [] : [{ name: "model", detail: settings.modelName }]),
    ],
    givenUp,
    [Symbol.asyncDispose]: () => close.disposeAsync(),
  };
}

const never = (): Promise<never> => new Promise(() => undefined);

type Working = Pick<Intaking, "github" | "hooks"> & { readonly pace: Pace };

/** Takes runs until it is disposed, or the operator's failure policy ends it: answers with the promise of that (AUD-52). */
function startRuns(
  { github, hooks, pace }: Working,
  runs: NonNullable<Part["runs"]>,
  settings: ServiceSettings,
  { undo, signal }: { readonly undo: AsyncDisposableStack; readonly signal: AbortSignal },
): Service["givenUp"] {
  const { operator } = runs;
  const outage = undo.use(openOutagePolicy(operator));
  const whyNoneTaken = async () => {
    if (outage.isEnding()) return "ending";
    return (await freeBytes(settings.home)) < (settings.leastFreeBytes ?? leastFreeBytes) ? "disk" : null;
  };
  const places = runsAtOnce(operator, settings.runUids, { name: runs.workspace.rung });
  const taking = { onUnrecorded: outage.onUnrecorded, atWork: outage.atWork, whyNoneTaken, places };
  const looking = pace.lookPausesMs === undefined ? {} : { lookPausesMs: pace.lookPausesMs };
  const deps = { ...runs, github, publicUrl: settings.publicUrl, times: pace, ...looking, ...taking };
  undo.use(startWorking(deps, hooks, signal));
  return outage.ended;
}

type Part = Records & { readonly runs: Awaited<ReturnType<typeof openRuns>> | null };

/** Records alone for a process that takes webhooks and does no work; else all that runs need, the sandbox tried first. */
async function openPart(
  deps: CountersignDeps,
  settings: ServiceSettings,
  hooks: ServiceHooks,
  signal: AbortSignal,
): Promise<Part> {
  if (settings.role === "web") return { ...(await openRecords(deps, settings, signal)), runs: null };
  await using undo = new AsyncDisposableStack();
  const runs = undo.use(await openRuns(deps, settings, { onEvent: hooks.onEvent, askApproval: null }, signal));
  await requireConfinement(workspaceDepsOf(deps, settings), runs.probe, signal);
  undo.move();
  return { ...runs, runs };
}

const pickGithubPace = ({ requestTimeoutMs, writeIntervalMs, lookIntervalMs }: Pace) => ({
  requestTimeoutMs,
  writeIntervalMs,
  lookIntervalMs,
});

const hostInUrl = (host: string): string => (host.includes(":") ? `[${host}]` : host);

/** Works until it is disposed; then what is in hand is given back. */
function startWorking(runs: GithubRunDeps, { onTrouble }: ServiceHooks, signal: AbortSignal): AsyncDisposable {
  const stop = new AbortController();
  const working = workOnJobs(runs, onTrouble, AbortSignal.any([signal, stop.signal])).catch((error: unknown) => {
    if (!stop.signal.aborted && !signal.aborted) onTrouble("no more runs are taken", error);
  });
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await working;
    },
  };
}

type Intaking = {
  readonly deps: CountersignDeps;
  readonly records: Part;
  readonly github: Github;
  readonly hooks: ServiceHooks;
  readonly app: Awaited<ReturnType<Github["app"]>>;
};

async function startIntake(parts: Intaking, settings: ServiceSettings, undo: AsyncDisposableStack): Promise<number> {
  const { deps, records, github, hooks, app } = parts;
  const { store, ledger, keys } = records;
  const { github: place, webhookPath, port, host } = settings;
  const operator = records.runs?.operator ?? (await openSettings(deps, settings, records));
  const secrets = [place.webhookSecret, ...(place.webhookSecretPrevious === null ? [] : [place.webhookSecretPrevious])];
  const readHere = () => readSpools(join(settings.home, "spool"));
  const health = undo.use(await watchHealth({ store, clock: deps.clock, readSpools: readHere }));
  const intake: Intake = createIntake(
    {
      ...deps,
      store,
      ledger,
      keys,
      queue: await store.queue(),
      operator,
      github: {
        permission: (where, login, signal) => github.reader(where).permission(login, signal),
        issue: (where, number, signal) => github.reader(where).issue(number, signal),
        comment: (where, id, signal) => github.reader(where).comment(id, signal),
      },
      ownApp: { id: app.id, botUserId: app.botUserId },
      policies: records.runs?.policies ?? (await loadPolicySet(deps, settings, createCatalogue())),
      times: intakeTimes,
      health: health.now,
      onTrouble: hooks.onTrouble,
    },
    { privateKey: place.privateKey, webhookSecrets: secrets, webhookPath },
  );
  undo.use(intake);
  const heard = await intake.listen(port, host);
  undo.use(askForMissed({ deps, store, ledger, hooks }, settings.github));
  return heard;
}

/** The operator's settings, on record as `openRuns` has it, for a process without runs. */
async function openSettings(
  deps: CountersignDeps,
  { policiesFolder }: ServiceSettings,
  { store, ledger }: Records,
): Promise<OperatorSettings> {
  const operator = await loadOperatorSettings(policiesFolder);
  const operatorDigest = await digestOperatorSettings(policiesFolder);
  const found = { operatorDigest, policySetDigest: null, killSwitch: operator.killSwitch };
  await recordSettings({ ...deps, store, ledger }, found);
  return operator;
}

/** The pages, where they are wanted. A port that others have is no fault as long as no token says that pages are meant. */
async function openPages(
  { deps, records, hooks }: Pick<Intaking, "deps" | "records" | "hooks">,
  { pages, publicUrl }: ServiceSettings,
  undo: AsyncDisposableStack,
): Promise<{ readonly url: string; readonly detail: string } | null> {
  if (pages === undefined) return null;
  const pageDeps = { ...records, clock: deps.clock, redact: deps.redactor.redact, onTrouble: hooks.onTrouble };
  try {
    const { port } = undo.use(await startPages(pageDeps, { ...pages, publicUrl }));
    const url = `http://127.0.0.1:${port}/runs`;
    return { url, detail: pages.token === null ? `${url}: 404 until COUNTERSIGN_WEB_TOKEN is set` : url };
  } catch (error) {
    if (pages.token !== null) throw error;
    return null;
  }
}
