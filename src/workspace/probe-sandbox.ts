import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { isCountersignError } from "../domain/index.ts";
import { openConfinement } from "./confinement.ts";
import { randomName, type WorkspaceDeps } from "./host.ts";
import { makeWorkFolder } from "./make-work-folder.ts";
import { type Barrier, barriers, probeScript } from "./probe-script.ts";
import { removeFolder } from "./remove-folder.ts";
import { requireBubblewrap } from "./require-bubblewrap.ts";
import { takeRunUid } from "./run-uids.ts";
import { chooseRung, describeRung, hasProcessGroup, type Rung, type WantedRung } from "./rung.ts";
import { runInSandbox } from "./sandbox.ts";
import type { SandboxLimits } from "./sandbox-limits.ts";
import { makeFolderWith, makeSandboxFolders } from "./sandbox-place.ts";
import { refuseUnreachable, serviceFolder } from "./service-folder.ts";

/** One thing tried for real. `remedy` says what to do where it does not hold. */
export type SandboxCheck = {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly remedy: string;
};

const probeTimeoutMs = 20_000;

export type ProbeOptions = {
  readonly runUids: string | null;
  readonly toolsFolder: string;
  readonly rung: WantedRung;
  readonly limits: SandboxLimits;
};

/**
 * Starts a real sandbox and tries each barrier from inside (SEC-60). Operational failures are checks that do not hold; only
 * the signal throws.
 */
export async function probeSandbox(
  deps: WorkspaceDeps,
  options: ProbeOptions,
  signal: AbortSignal,
): Promise<readonly SandboxCheck[]> {
  const checks: SandboxCheck[] = [];
  try {
    const version = await requireBubblewrap(deps);
    checks.push({ name: "bubblewrap", ok: true, detail: `version ${version}`, remedy: "" });
    checks.push(...(await probe(deps, options, signal)));
  } catch (error) {
    if (signal.aborted || !isCountersignError(error)) throw error;
    const name = error.code === "BUBBLEWRAP_MISSING" ? "bubblewrap" : "sandbox";
    checks.push({ name, ok: false, detail: error.message, remedy: error.remedy });
  }
  return checks;
}

async function probe(
  deps: WorkspaceDeps,
  options: ProbeOptions,
  signal: AbortSignal,
): Promise<readonly SandboxCheck[]> {
  await using undo = new AsyncDisposableStack();
  const rung = chooseRung(deps, options.rung);
  const isShared = hasProcessGroup(rung);
  const runUid = await takeRunUid(deps, options.runUids, { isShared }, signal);
  undo.defer(() => runUid.release());
  const folder = join(await serviceFolder(deps, "work", 0o711), randomName(deps));
  undo.defer(deps.registerProcess("the sandbox of doctor", { pid: null, paths: [folder], mounts: [] }));
  undo.defer(() => removeFolder(folder));
  makeFolderWith(folder, 0o711);
  await refuseUnreachable(folder, runUid.owner);
  const canary = join(folder, "canary"); // readable by all: only the mounts keep it out of sight
  writeFileSync(canary, "canary\n", { mode: 0o644 });
  const listener = await listen();
  undo.defer(() => listener.close());

  const { limits } = options;
  const ofOne = { rung, limits, sandboxesAtOnce: 1, output: { usedBytes: 0 }, isWorkBounded: false };
  const confinement = undo.use(openConfinement(deps, ofOne));
  const place = {
    ...(await makeSandboxFolders(deps, folder, runUid.owner)),
    ...{ toolsFolder: options.toolsFolder, toolchains: [], environment: {}, seccompFilter: null },
    ...{ owner: runUid.owner, confinement, workFolder: makeWorkFolder(join(folder, "tree"), runUid.owner) },
  };
  const script = probeScript({ canary, port: listener.port });
  const program = { kind: "shell", script } as const;
  const result = await runInSandbox(deps, place, { program, timeoutMs: probeTimeoutMs }, signal);
  signal.throwIfAborted();
  const said = readAnswers(Buffer.from(result.output).toString("utf8"));
  return [limitsCheck(rung), ...barriers.map((barrier) => checkOf(barrier, said)), await probeEnd(deps, place, signal)];
}

/** The lowest rung is no fault, unless the operator demands a better one: then there was no probe at all. */
function limitsCheck(rung: Rung): SandboxCheck {
  const remedy =
    rung.name === "prlimit"
      ? "delegate a cgroup v2 folder to the service, see docs/configuration.md, `sandbox.cgroup`"
      : "";
  return { name: "limits", ok: true, detail: describeRung(rung), remedy };
}

function readAnswers(output: string): ReadonlyMap<string, { readonly holds: boolean; readonly detail: string }> {
  const lines = output.matchAll(/^(\S+)\t(holds|open)\t(.*)$/gm);
  return new Map(
    Array.from(lines, ([, name = "", state, detail = ""]) => [name, { holds: state === "holds", detail }]),
  );
}

/** No answer is no barrier. */
function checkOf(barrier: Barrier, said: ReturnType<typeof readAnswers>): SandboxCheck {
  const answer = said.get(barrier.name) ?? { holds: false, detail: "the probe did not get that far" };
  return { name: barrier.name, ok: answer.holds, detail: answer.detail, remedy: answer.holds ? "" : barrier.remedy };
}

/** A command that ignores TERM and leaves a daemon: both must be gone at the time limit. */
async function probeEnd(
  deps: WorkspaceDeps,
  place: Parameters<typeof runInSandbox>[1],
  signal: AbortSignal,
): Promise<SandboxCheck> {
  const script = "trap '' TERM; setsid sleep 60 & while :; do sleep 1; done";
  const request = { program: { kind: "shell", script }, timeoutMs: 200 } as const;
  const result = await runInSandbox(deps, place, request, signal);
  signal.throwIfAborted();
  const detail = `ended ${result.durationMs} ms after its start, with a limit of 200 ms`;
  const remedy = result.timedOut ? "" : "report this: a time limit did not end a command";
  return { name: "time_limit", ok: result.timedOut, detail, remedy };
}

async function listen(): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer((socket) => socket.end());
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { port, close: () => new Promise((resolve) => server.close(() => resolve())) };
}
