import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { ModelClient } from "../agent/index.ts";
import { type IdSource, newDecisionId, type Redactor, type RunId } from "../domain/index.ts";
import { type Catalogue, createCatalogue, createSavedPages, type SavedPages } from "../gateway/index.ts";
import type { Github } from "../github/index.ts";
import {
  type Keys,
  type Ledger,
  openKeys,
  openLedger,
  type SpanSenderSettings,
  startSpanSender,
} from "../ledger/index.ts";
import { loadOperatorSettings, loadPolicies, type OperatorSettings, type PolicyEngine } from "../policy/index.ts";
import {
  type AskApproval,
  type RunDeps,
  type RunEvent,
  type ServerPlace,
  settleInterrupted,
  type WorkspaceHands,
} from "../run/index.ts";
import {
  makeHome,
  openStore,
  readEmbeddedPassword,
  refuseForeignHome,
  registerProcess,
  type Store,
  sweepLeftovers,
  translateFileError,
} from "../store/index.ts";
import {
  type CheckoutKind,
  chooseRung,
  createWorkspace,
  defaultSearchPath,
  defaultTreeLimits,
  describeRung,
  openBase,
  type ProbeOptions,
  prepareTools,
  type Reach,
  type Rung,
  readBaseFile,
  readRegistries,
  renderPatch,
  reopenBase,
  requireSandbox,
  type SandboxLimits,
  type SetupOptions,
  sandboxesAtOnce,
  seccompFilter,
  type Toolchain,
  type TreeLimits,
  type WantedRung,
  type WorkspaceDeps,
  type WorkspaceOptions,
} from "../workspace/index.ts";
import { delay } from "./delay.ts";

/** The settings of one Countersign, as plain values. */
export type CountersignSettings = {
  readonly home: string;
  readonly databaseUrl: string | null;
  readonly policiesFolder: string;
  readonly runUids: string | null;
  /** Where git and bwrap are looked for; null: where they usually lie. */
  readonly searchPath: string | null;
  /** Absent: no setup has a network, whatever the policy folder says. */
  readonly setupNetwork?: {
    /** How the world is reached by setup's proxy. */
    readonly reach: Reach;
    /** What npm and pip of this machine get of the environment when they are asked where packages come from. */
    readonly packageManagers: Readonly<Record<string, string | undefined>>;
  };
};

/** What every part of one process shares. */
export type CountersignDeps = IdSource & {
  /** Gets a line for the user when something unusual was done. */
  readonly notice: (line: string) => void;
  /** Of all ways out (SEC-100); learns the secrets that become live. */
  readonly redactor: Redactor;
};

/** What is on record. */
export type Records = AsyncDisposable & { readonly store: Store; readonly ledger: Ledger; readonly keys: Keys };

/** What the file system says about the service folder (no space, no way in) in our words, wherever it is met. */
async function inHome<T>(home: string, work: () => Promise<T>): Promise<T> {
  await refuseForeignHome(home);
  try {
    return await work();
  } catch (error) {
    throw translateFileError(error, home);
  }
}

/** Opens database, keys and ledger. Leaves nothing behind where it throws. */
export function openRecords(
  deps: CountersignDeps,
  settings: CountersignSettings,
  signal: AbortSignal,
): Promise<Records> {
  return inHome(settings.home, () => open(deps, settings, signal));
}

async function open(deps: CountersignDeps, settings: CountersignSettings, signal: AbortSignal): Promise<Records> {
  await using undo = new AsyncDisposableStack();
  const { home, databaseUrl } = settings;
  for (const line of await sweepLeftovers(home)) deps.notice(line);
  const store = undo.use(await openStore(deps, { databaseUrl, home, databaseUid: null }, signal));
  await makeHome(home); // whoever comes first: run uids must be able to pass it (SEC-47)
  if (store.kind === "embedded") deps.redactor.learn(await readEmbeddedPassword(home));
  const keys = await openKeys(deps, join(home, "keys"));
  const ledger = await openLedger({ ...deps, store, keys });
  const close = undo.move();
  return { store, ledger, keys, [Symbol.asyncDispose]: () => close.disposeAsync() };
}

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

/** Opens all that a run needs, and settles the runs that an earlier process left behind. */
export function openRuns(
  deps: CountersignDeps,
  settings: RunSettings,
  hooks: RunHooks,
  signal: AbortSignal,
): Promise<RunDeps & AsyncDisposable> {
  return inHome(settings.home, () => openAll(deps, settings, hooks, signal));
}

async function openAll(
  deps: CountersignDeps,
  settings: RunSettings,
  hooks: RunHooks,
  signal: AbortSignal,
): Promise<RunDeps & AsyncDisposable> {
  await using undo = new AsyncDisposableStack();
  const operator = await loadOperatorSettings(settings.policiesFolder);
  const catalogue = createCatalogue();
  const policies = await loadPolicySet(deps, settings, catalogue);
  for (const line of await sweepLeftovers(settings.home)) deps.notice(line); // a killed run's sandbox may hold a user id
  const wanted = { runUids: settings.runUids, ...wantedRung(operator) };
  const rung = await requireSandbox(workspaceDepsOf(deps, settings), wanted, signal);
  if (rung.name === "prlimit") deps.notice(describeRung(rung));
  // Copying tools and starting a database take a while each, and know nothing of each other.
  const [hands, records] = await Promise.allSettled([
    workspaceHands(deps, settings, { operator, rung }),
    openRecords(deps, settings, signal).then((opened) => undo.use(opened)),
  ]);
  const workspace = settledValue(hands);
  const { store, ledger, keys } = settledValue(records);
  const runs: RunDeps = {
    ...deps,
    ...hooks,
    store,
    ledger,
    keys,
    policies,
    operator,
    catalogue,
    workspace,
    github: settings.openGithub?.(keys.markerKey) ?? null,
    model: settings.model,
    modelName: settings.modelName,
    ...(settings.modelServer === undefined ? {} : { modelServer: settings.modelServer }),
    openPages: (runId) => openPages(settings.home, runId),
    keepPatchOutside: (runId, patch) => keepPatchOutside(settings.home, runId, patch),
  };
  if (settings.otel) sendSpans(undo, { ...deps, store }, { ...settings.otel, publicUrl: null });
  for (const line of await settleInterrupted(runs, signal)) deps.notice(line);
  const close = undo.move();
  return { ...runs, [Symbol.asyncDispose]: () => close.disposeAsync() };
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

export const workspaceDepsOf = (deps: CountersignDeps, { home, searchPath }: CountersignSettings): WorkspaceDeps => ({
  home,
  searchPath: searchPath ?? defaultSearchPath,
  registerProcess: (what, registered) => registerProcess(home, what, registered),
  randomBytes: deps.randomBytes,
});

/** The hands of the workspace room with the operator's settings closed over. */
async function workspaceHands(
  deps: CountersignDeps,
  settings: CountersignSettings,
  { operator, rung }: { readonly operator: OperatorSettings; readonly rung: Rung },
): Promise<WorkspaceHands> {
  const { runUids, home } = settings;
  const workspaceDeps = workspaceDepsOf(deps, settings);
  const { sandbox } = operator;
  const confinement = confinementOf(operator, runUids, rung);
  const { files, totalBytes, fileBytes, pathBytes, levels } = operator.tree;
  const limits: TreeLimits = { ...defaultTreeLimits, files, totalBytes, fileBytes, pathBytes, depth: levels };
  const never = new AbortController().signal; // reading a mirror and wording a patch are short, and belong to settling
  const toolsFolder = await prepareTools(workspaceDeps);
  const filter = seccompFilter(); // read at the start: without one nothing begins
  let isWarned = false;
  const warnOnce = (kind: CheckoutKind): void => {
    if (kind === "copy" && !isWarned) deps.notice(unboundedWorkFolder);
    isWarned ||= kind === "copy";
  };
  const setup = setupOptions(workspaceDeps, settings, operator);
  return {
    rung: rung.name,
    openBase: (source, signal) => inHome(home, () => openBase(workspaceDeps, source, limits, signal)),
    reopenBase: (repositoryId, commitSha) =>
      inHome(home, () => reopenBase(workspaceDeps, { repositoryId, commitSha }, limits, never)),
    readBaseFile: (base, path) => readBaseFile(workspaceDeps, base, path, never),
    renderPatch: (base, changeSet) => inHome(home, () => renderPatch(workspaceDeps, base, changeSet, never)),
    createWorkspace: async (base, { buildOutput, output }, signal) => {
      const options: WorkspaceOptions = {
        runUids,
        toolsFolder,
        ...sandboxInputsOf(sandbox),
        limits,
        buildOutput,
        seccompFilter: filter,
        setup,
        confinement: { ...confinement, output },
      };
      const workspace = await inHome(home, () => createWorkspace(workspaceDeps, base, options, signal));
      warnOnce(workspace.checkout);
      return workspace;
    },
  };
}

/** What the operator adds to every sandbox. */
const sandboxInputsOf = (
  sandbox: OperatorSettings["sandbox"],
): Pick<WorkspaceOptions, "toolchains" | "environment"> => ({
  toolchains: sandbox.readOnlyBinds.map((folder) => toolchainOf(folder, sandbox.path)),
  environment: sandbox.environment,
});

/** What the operator allows a sandbox; the process budget and the sizes of the work folder among it (SEC-55, SEC-56). */
const sandboxLimitsOf = ({ sandbox }: OperatorSettings): SandboxLimits => {
  const { memoryBytes, processes, fileBytes, openFiles, workBytes, workInodes } = sandbox;
  const { cpus, outputBytes, runOutputBytes, idleMs } = sandbox;
  return {
    ...{ memoryBytes, processes, fileBytes, openFiles, workBytes, workInodes },
    ...{ cpus, outputBytes, runOutputBytes, idleMs },
  };
};

/** The least rung that will do, from the operator's settings (SEC-53). */
const wantedRung = ({ sandbox }: OperatorSettings): WantedRung => ({
  atLeast: sandbox.rung,
  cgroupFolder: sandbox.cgroupFolder,
});

/** What holds a sandbox that belongs to no run yet; a run brings its own count of output. */
const confinementOf = (
  operator: OperatorSettings,
  runUids: string | null,
  rung: Rung,
): WorkspaceOptions["confinement"] => ({
  rung,
  limits: sandboxLimitsOf(operator),
  sandboxesAtOnce: runsAtOnce(operator, runUids, rung),
  output: { usedBytes: 0 },
});

/** Twice what one installation may have, unless the operator says how many; never more than there can be sandboxes (SEC-42). */
export function runsAtOnce(
  { concurrency }: OperatorSettings,
  runUids: string | null,
  rung: Pick<Rung, "name">,
): number {
  const wanted = concurrency.runsPerProcess ?? 2 * concurrency.runsPerInstallation;
  return Math.min(wanted, sandboxesAtOnce(runUids, rung));
}

/** SEC-56: said once. */
const unboundedWorkFolder =
  "this service may not mount file systems: each checkout is a copy on disk, and no file system bounds what a command may write there";

/** What the operator lets setup do; how far its network reaches is found out when one is wanted (SEC-65 to SEC-70). */
function setupOptions(
  deps: WorkspaceDeps,
  { setupNetwork }: CountersignSettings,
  { setup }: OperatorSettings,
): SetupOptions {
  const { installScripts, hosts, internalHost, bytes } = setup;
  if (setupNetwork === undefined || setup.network === "none") return { installScripts, network: null };
  const { reach, packageManagers } = setupNetwork;
  const registries = (signal: AbortSignal) => readRegistries(deps, packageManagers, signal);
  const internal = internalHost === null ? null : { host: internalHost.host, range: internalHost.addresses };
  return { installScripts, network: { reach, registries, hosts, internal, bytes } };
}

/** A sandbox as every run's, for a probe. */
export async function probeOptionsOf(
  deps: CountersignDeps,
  settings: CountersignSettings,
  operator: OperatorSettings,
): Promise<ProbeOptions> {
  const workspaceDeps = workspaceDepsOf(deps, settings);
  const toolsFolder = await prepareTools(workspaceDeps);
  const confinement = confinementOf(operator, settings.runUids, chooseRung(workspaceDeps, wantedRung(operator)));
  return { runUids: settings.runUids, toolsFolder, ...sandboxInputsOf(operator.sandbox), confinement };
}

/** `/opt/NAME` in the sandbox; its `bin` is searched where the operator's `path` lists the folder (SEC-44). */
const toolchainOf = (folder: string, searched: readonly string[]): Toolchain => ({
  name: basename(folder),
  folder,
  addToPath: searched.includes(folder),
});

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
