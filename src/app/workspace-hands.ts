import { basename } from "node:path";
import type { OperatorSettings } from "../policy/index.ts";
import type { WorkspaceHands } from "../run/index.ts";
import { registerProcess } from "../store/index.ts";
import {
  type CheckoutKind,
  chooseRung,
  createWorkspace,
  defaultSearchPath,
  defaultTreeLimits,
  openBase,
  type ProbeOptions,
  prepareTools,
  type Rung,
  readBaseFile,
  readRegistries,
  renderPatch,
  reopenBase,
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
import { inHome } from "./in-home.ts";
import type { CountersignDeps, CountersignSettings } from "./settings.ts";

export const workspaceDepsOf = (deps: CountersignDeps, { home, searchPath }: CountersignSettings): WorkspaceDeps => ({
  home,
  searchPath: searchPath ?? defaultSearchPath,
  registerProcess: (what, registered) => registerProcess(home, what, registered),
  randomBytes: deps.randomBytes,
});

type Chosen = { readonly operator: OperatorSettings; readonly rung: Rung };

/** The hands of the workspace room with the operator's settings closed over, and a sandbox as theirs for a probe. */
export async function workspaceHands(
  deps: CountersignDeps,
  settings: CountersignSettings,
  { operator, rung }: Chosen,
): Promise<{ readonly workspace: WorkspaceHands; readonly probe: ProbeOptions }> {
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
  const hands: WorkspaceHands = {
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
  return { workspace: hands, probe: { runUids, toolsFolder, ...sandboxInputsOf(sandbox), confinement } };
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
export const wantedRung = ({ sandbox }: OperatorSettings): WantedRung => ({
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
