import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ModelClient } from "../agent/index.ts";
import { newDecisionId, type RunId } from "../domain/index.ts";
import { type Catalogue, createCatalogue, createSavedPages, type SavedPages } from "../gateway/index.ts";
import type { Github } from "../github/index.ts";
import { type SpanSenderSettings, startSpanSender } from "../ledger/index.ts";
import {
  digestOperatorSettings,
  loadOperatorSettings,
  loadPolicies,
  type OperatorSettings,
  type PolicyEngine,
} from "../policy/index.ts";
import {
  type AskApproval,
  keepPolicySet,
  type RunDeps,
  type RunEvent,
  type ServerPlace,
  settleInterrupted,
} from "../run/index.ts";
import { registerProcess, sweepAbandonedGroups, sweepLeftovers } from "../store/index.ts";
import { describeRung, groupParents, type ProbeOptions, type Rung, requireSandbox } from "../workspace/index.ts";
import { delay } from "./delay.ts";
import { inHome } from "./in-home.ts";
import { openRecords, type Records } from "./open-records.ts";
import { openSpooledLedger } from "./open-spool.ts";
import { requireRoomForRun } from "./outage-policy.ts";
import { recordSettings } from "./record-settings.ts";
import type { CountersignDeps, CountersignSettings } from "./settings.ts";
import { wantedRung, workspaceDepsOf, workspaceHands } from "./workspace-hands.ts";

/** What runs are done with, besides the records. */
export type RunSettings = CountersignSettings & {
  readonly model: ModelClient;
  readonly modelName: string;
  readonly modelServer?: ServerPlace;
  /** Where the trace goes; absent or null: spans stay in the database. */
  readonly otel?: Omit<SpanSenderSettings, "publicUrl"> | null;
  /** Absent: no App is at hand. */
  readonly openGithub?: (markerKey: Uint8Array) => Github;
};

export type RunHooks = { readonly onEvent: (event: RunEvent) => void; readonly askApproval: AskApproval | null };

/** All that runs need, and a sandbox as theirs for a probe. */
export type OpenedRuns = RunDeps & AsyncDisposable & { readonly probe: ProbeOptions };

/** Opens all that a run needs, and settles the runs that an earlier process left behind. */
export function openRuns(
  deps: CountersignDeps,
  settings: RunSettings,
  hooks: RunHooks,
  signal: AbortSignal,
): Promise<OpenedRuns> {
  return inHome(settings.home, () => openAll(deps, settings, hooks, signal));
}

async function openAll(
  deps: CountersignDeps,
  settings: RunSettings,
  hooks: RunHooks,
  signal: AbortSignal,
): Promise<OpenedRuns> {
  await using undo = new AsyncDisposableStack();
  const operator = await loadOperatorSettings(settings.policiesFolder);
  const catalogue = createCatalogue();
  const policies = await loadPolicySet(deps, settings, catalogue);
  const rung = await openRung(deps, settings, operator, signal);
  // Copying tools and starting a database take a while each, and know nothing of each other.
  const [hands, records] = await Promise.allSettled([
    workspaceHands(deps, settings, { operator, rung }),
    openRecords(deps, settings, signal).then((opened) => undo.use(opened)),
  ]);
  const { workspace, probe } = settledValue(hands);
  const { store, ledger: log, keys } = settledValue(records);
  const spooled = await openSpooledLedger({ ...deps, store, ledger: log }, join(settings.home, "spool"), undo);
  const runs: RunDeps = {
    ...deps,
    ...hooks,
    store,
    ...spooled,
    keys,
    policies,
    operator,
    catalogue,
    workspace,
    github: settings.openGithub?.(keys.markerKey) ?? null,
    model: settings.model,
    modelName: settings.modelName,
    ...(settings.modelServer === undefined ? {} : { modelServer: settings.modelServer }),
    requireRoom: () => requireRoomForRun(settings.home),
    openPages: (runId) => openPages(settings.home, runId),
    keepPatchOutside: (runId, patch) => keepPatchOutside(settings.home, runId, patch),
  };
  await keepPolicySet(runs);
  if (settings.otel) sendSpans(undo, { ...deps, store }, { ...settings.otel, publicUrl: null });
  const operatorDigest = await digestOperatorSettings(settings.policiesFolder);
  const { policySetDigest } = policies;
  await recordSettings(
    { ...deps, store, ledger: log },
    { operatorDigest, policySetDigest, killSwitch: operator.killSwitch },
  );
  for (const line of await settleInterrupted(runs, signal)) deps.notice(line);
  const close = undo.move();
  return { ...runs, probe, [Symbol.asyncDispose]: () => close.disposeAsync() };
}

/** The rung of all sandboxes. What killed processes left is out of the way first: a sandbox of theirs may hold a user id. */
async function openRung(
  deps: CountersignDeps,
  settings: CountersignSettings,
  operator: OperatorSettings,
  signal: AbortSignal,
): Promise<Rung> {
  for (const line of await sweepLeftovers(settings.home)) deps.notice(line);
  const wanted = { runUids: settings.runUids, ...wantedRung(operator) };
  const rung = await requireSandbox(workspaceDepsOf(deps, settings), wanted, signal);
  await sweepAbandonedGroups(groupParents(rung)); // of any home: nothing that whoever starts here has to know
  if (rung.name === "prlimit") deps.notice(describeRung(rung));
  return rung;
}

function settledValue<Value>(settled: PromiseSettledResult<Value>): Value {
  if (settled.status === "rejected") throw settled.reason;
  return settled.value;
}

/** How long a command waits at its end for the receiver of the trace. */
const flushMs = 3000;

/** Sends the trace while the run goes on; what is left at its end gets a few seconds and is else kept for the next start. */
function sendSpans(undo: AsyncDisposableStack, deps: CountersignDeps & Pick<Records, "store">, to: SpanSenderSettings) {
  const sender = undo.use(startSpanSender({ ...deps, delay }, to));
  undo.defer(async () => {
    await sender.flush(AbortSignal.timeout(flushMs));
  });
}

/** Registered before it is made: a killed process leaves no output of a run behind (SEC-61). */
async function openPages(home: string, runId: RunId): Promise<SavedPages> {
  const folder = join(home, "work", `${runId}-pages`);
  const forget = registerProcess(home, "output of a run", { pid: null, paths: [folder], mounts: [] });
  const pages = await createSavedPages(folder);
  return {
    ...pages,
    [Symbol.asyncDispose]: async () => {
      await pages[Symbol.asyncDispose]();
      forget();
    },
  };
}

/**
 * Milliseconds that this thread has worked. A decision is made in one go on it, and one that takes too long is a denial
 * (AUD-26): neither a clock that is set nor a busy machine must make it look slow.
 */
function threadTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

export function loadPolicySet(
  deps: CountersignDeps,
  settings: CountersignSettings,
  catalogue: Catalogue,
): Promise<PolicyEngine> {
  const newId = { clock: threadTime, newDecisionId: () => newDecisionId(deps) };
  return loadPolicies(newId, settings.policiesFolder, [...catalogue.values()]);
}

/** A file beside the store, or in the temporary folder where even that can't be written. */
async function keepPatchOutside(home: string, runId: RunId, patch: string): Promise<string> {
  const name = `${runId}.patch`;
  try {
    await mkdir(join(home, "patches"), { recursive: true, mode: 0o700 });
    await writeFile(join(home, "patches", name), patch, { mode: 0o600 });
    return join(home, "patches", name);
  } catch {
    const place = join(tmpdir(), `countersign-${name}`);
    await writeFile(place, patch, { mode: 0o600, flag: "wx" });
    return place;
  }
}
