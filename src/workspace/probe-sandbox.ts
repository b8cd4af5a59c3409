import { readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isCountersignError } from "../domain/index.ts";
import { openConfinement } from "./confinement.ts";
import type { WorkspaceOptions } from "./create-workspace.ts";
import { randomName, type WorkspaceDeps } from "./host.ts";
import { mountPointsOf } from "./open-checkout.ts";
import { checkedEnvironment, checkedToolchains } from "./operator-inputs.ts";
import { type CallBarrier, callBarriers, callsOf, unfilteredBarriers } from "./probe-calls.ts";
import { describeCheckout, openProbeFolder } from "./probe-checkout.ts";
import { openProbeListeners, type ProbeListeners } from "./probe-listeners.ts";
import { listRuntimes } from "./probe-runtimes.ts";
import { barriers, namespaceKinds, probeScript, remedies } from "./probe-script.ts";
import { removeFolder } from "./remove-folder.ts";
import { requireBubblewrap } from "./require-bubblewrap.ts";
import { describeOwner, takeRunUid } from "./run-uids.ts";
import { describeRung, hasProcessGroup, type Rung } from "./rung.ts";
import { runInSandbox } from "./sandbox.ts";
import { makeFolderWith, makeSandboxFolders, writeProgram } from "./sandbox-place.ts";
import { seccompFilter } from "./seccomp-filter.ts";
import { refuseUnreachable, serviceFolder } from "./service-folder.ts";
import { type RawCall, readResults, systemCallProgram } from "./system-call-program.ts";

/** One thing tried for real. `remedy` says what to do where it does not hold. */
export type SandboxCheck = {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly remedy: string;
};

/** As for a workspace. */
export type ProbeOptions = Pick<
  WorkspaceOptions,
  "runUids" | "toolsFolder" | "toolchains" | "environment" | "confinement" | "checkout"
>;

/** `confinement`: the barriers alone, without the time limit and the list of runtimes. */
type Part = { readonly part: "confinement" | "everything" };

const probeTimeoutMs = 20_000;

/**
 * Starts real sandboxes and tries each barrier from inside (SEC-60). Operational failures are checks that do not hold; only the
 * signal throws.
 */
export async function probeSandbox(
  deps: WorkspaceDeps,
  options: ProbeOptions & Part,
  signal: AbortSignal,
): Promise<readonly SandboxCheck[]> {
  const checks: SandboxCheck[] = [];
  try {
    const version = await requireBubblewrap(deps);
    checks.push({ name: "bubblewrap", ok: true, detail: `version ${version}`, remedy: "" });
    checks.push(...(await probeWith(deps, options, signal)));
  } catch (error) {
    if (signal.aborted || !isCountersignError(error)) throw error;
    const name = error.code === "BUBBLEWRAP_MISSING" ? "bubblewrap" : "sandbox";
    checks.push({ name, ok: false, detail: error.message, remedy: error.remedy });
  }
  return checks;
}

/** A sandbox's place, and the means to run in it until the signal says no more. */
type Probe = {
  readonly place: Parameters<typeof runInSandbox>[1];
  readonly run: (
    place: Probe["place"],
    program: Parameters<typeof runInSandbox>[2]["program"],
    timeoutMs?: number,
  ) => ReturnType<typeof runInSandbox>;
};

async function probeWith(
  deps: WorkspaceDeps,
  options: ProbeOptions & Part,
  signal: AbortSignal,
): Promise<readonly SandboxCheck[]> {
  await using undo = new AsyncDisposableStack();
  const environment = checkedEnvironment(options.environment);
  const toolchains = checkedToolchains(options.toolchains, deps.home);
  const { rung } = options.confinement;
  const isShared = hasProcessGroup(rung);
  const runUid = await takeRunUid(deps, options.runUids, { isShared }, signal);
  undo.defer(() => runUid.release());
  const folder = join(serviceFolder(deps, "work", 0o711), randomName(deps));
  const registered = { pid: null, paths: [folder], mounts: mountPointsOf(folder) };
  undo.defer(deps.registerProcess("the sandbox of doctor", registered));
  undo.defer(() => removeFolder(folder));
  makeFolderWith(folder, 0o711);
  await refuseUnreachable(folder, runUid.owner);
  const canary = join(folder, "canary"); // readable by all: only the mounts keep it out of sight
  writeFileSync(canary, "canary\n", { mode: 0o644 });
  const listeners = undo.use(await openProbeListeners(folder, randomName(deps)));

  const work = { bytes: options.confinement.limits.workBytes, inodes: options.confinement.limits.workInodes };
  const ownPlace = { runFolder: folder, owner: runUid.owner, work };
  const checkout = undo.use(await openProbeFolder(deps, { ...ownPlace, kind: options.checkout ?? null }));
  const isWorkBounded = checkout.kind !== "copy";
  const confinement = undo.use(openConfinement(deps, { ...options.confinement, isWorkBounded }));
  const place = {
    ...(await makeSandboxFolders(deps, folder, runUid.owner)),
    ...{ toolsFolder: options.toolsFolder, toolchains, environment },
    ...{ seccompFilter: seccompFilter(), owner: runUid.owner, confinement },
    workFolder: checkout.folder,
  };
  const run: Probe["run"] = async (where, program, timeoutMs = probeTimeoutMs) => {
    const result = await runInSandbox(deps, where, { program, timeoutMs }, signal);
    signal.throwIfAborted();
    return result;
  };
  const probe: Probe = { place, run };
  const runsAs = { name: "runs_as", ok: true, detail: describeOwner(runUid.owner), remedy: "" };
  const lies = { name: "checkout", ok: true, detail: describeCheckout(checkout, work), remedy: "" };
  return [limitsCheck(rung), runsAs, lies, ...(await tryAll(probe, options.part, canary, listeners))];
}

/** The lowest rung is no fault: where the operator demands a better one nothing starts at all. */
function limitsCheck(rung: Rung): SandboxCheck {
  const isLowest = rung.name === "prlimit";
  const remedy = isLowest ? "delegate control groups to the service: docs/configuration.md, `sandbox.rung`" : "";
  return { name: "limits", ok: true, detail: describeRung(rung), remedy };
}

async function tryAll(
  probe: Probe,
  part: Part["part"],
  canary: string,
  listeners: ProbeListeners,
): Promise<readonly SandboxCheck[]> {
  const { seen, calls, foreign } = await tryFiltered(probe, canary, listeners);
  // Among the host's processes a sandbox never comes to an end by itself: each further one would take its whole time.
  if (seen.some(({ name, ok }) => name === "pid_namespace" && !ok)) return [...seen, ...calls, foreign];
  const confinement = [...seen, ...calls, ...(await tryUnfiltered(probe, listeners)), foreign];
  if (part === "confinement") return confinement;
  const runScript = (script: string) => probe.run(probe.place, { kind: "shell", script });
  const runtimes = await listRuntimes(runScript);
  return [...confinement, await tryTimeLimit(probe), { name: "runtimes", ok: true, detail: runtimes, remedy: "" }];
}

type Filtered = {
  readonly seen: readonly SandboxCheck[];
  readonly calls: readonly SandboxCheck[];
  readonly foreign: SandboxCheck;
};

/** SEC-51: a call by the gate of 32-bit programs ends the process. A kernel without that gate ends it too. */
const foreignArchitecture = { name: "foreign_architecture", remedy: remedies.filter };
const foreignCall: RawCall = { gate: "i386", number: 20, args: [] }; // getpid

/** In one sandbox as every command's: what a script sees, what becomes of a foreign call, and last what each call is answered. */
async function tryFiltered({ place, run }: Probe, canary: string, listeners: ProbeListeners): Promise<Filtered> {
  const { tcpPort, udpPort } = listeners;
  const links = namespaceKinds.map((kind) => [kind, readlinkSync(`/proc/self/ns/${kind}`)] as const);
  const { environment, generatedFolder } = place;
  const wanted = callsOf(callBarriers, listeners);
  const foreign = writeProgram(generatedFolder, "foreign", systemCallProgram([foreignCall]));
  const calls = writeProgram(generatedFolder, "calls", systemCallProgram(wanted));
  const script = `${probeScript({ canary, tcpPort, udpPort, hostNamespaces: Object.fromEntries(links), environment })}
${foreign}
ended=$?
[ $ended -gt 128 ] && state=holds || state=open
printf '${foreignArchitecture.name}\\t%s\\tended with %s\\n\\0' $state $ended
exec ${calls}
`;
  const output = Buffer.from((await run(place, { kind: "shell", script })).output);
  const end = output.indexOf(0); // no text of a shell holds one
  const text = (end === -1 ? output : output.subarray(0, end)).toString("utf8");
  const lines = text.matchAll(/^(\S+)\t(holds|open)\t(.*)$/gm);
  const said = new Map(Array.from(lines, ([, name, state, detail = ""]) => [name, { ok: state === "holds", detail }]));
  return {
    seen: barriers.map((barrier) => checkOf(barrier, said.get(barrier.name))),
    calls: judgeCalls(
      callBarriers,
      listeners,
      end === -1 ? null : readResults(output.subarray(end + 1), wanted.length),
    ),
    foreign: checkOf(foreignArchitecture, said.get(foreignArchitecture.name)),
  };
}

/** What must hold in a sandbox without the filter too, in one program. */
async function tryUnfiltered({ place, run }: Probe, listeners: ProbeListeners): Promise<readonly SandboxCheck[]> {
  const wanted = callsOf(unfilteredBarriers, listeners);
  const argv = [writeProgram(place.generatedFolder, "calls", systemCallProgram(wanted))];
  const { output } = await run({ ...place, seccompFilter: null }, { kind: "argv", argv });
  return judgeCalls(unfilteredBarriers, listeners, readResults(output, wanted.length));
}

function judgeCalls(
  tried: readonly CallBarrier[],
  aims: ProbeListeners,
  results: readonly number[] | null,
): readonly SandboxCheck[] {
  let next = 0;
  return tried.map((barrier) => {
    const first = next;
    next += barrier.calls(aims).length;
    const own = results?.slice(first, next);
    return checkOf(barrier, own && { ok: barrier.holds(own), detail: "" });
  });
}

/** No answer is no barrier. */
function checkOf(
  { name, remedy }: { readonly name: string; readonly remedy: string },
  answer: { readonly ok: boolean; readonly detail: string } | undefined,
): SandboxCheck {
  const { ok, detail } = answer ?? { ok: false, detail: "the probe did not get that far" };
  return { name, ok, detail, remedy: ok ? "" : remedy };
}

/** A command that ignores TERM and leaves a daemon: both must be gone at the time limit. */
async function tryTimeLimit({ place, run }: Probe): Promise<SandboxCheck> {
  const script = "trap '' TERM; setsid sleep 60 & while :; do sleep 1; done";
  const { durationMs, timedOut } = await run(place, { kind: "shell", script }, 200);
  const detail = `ended ${durationMs} ms after its start, with a limit of 200 ms`;
  const remedy = "report this: a time limit did not end a command";
  return checkOf({ name: "time_limit", remedy }, { ok: timedOut, detail });
}
