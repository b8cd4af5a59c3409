import { join } from "node:path";
import { newRunId, type RunStatus } from "../domain/index.ts";
import {
  type Catalogue,
  createFingerprints,
  createSavedPages,
  type GatewayDeps,
  type RunContext,
  withoutGithub,
} from "../gateway/index.ts";
import { noRepositoryPolicies } from "../policy/index.ts";
import { readHalt } from "../store/index.ts";
import type { Workspace } from "../workspace/index.ts";
import type { BenchPlace } from "./bench-place.ts";

/** The gateway with a run to serve. The action `finish` does nothing here, not even look. */
export type OpenedGateway = AsyncDisposable & {
  readonly deps: GatewayDeps;
  readonly run: RunContext & { readonly workspace: Workspace };
};

export async function openGateway(place: BenchPlace, signal: AbortSignal): Promise<OpenedGateway> {
  await using undo = new AsyncDisposableStack();
  const runs = await place.runs();
  const source = { kind: "path", path: await place.repository() } as const;
  const { base, repository } = await runs.workspace.openBase(source, signal);
  const runId = newRunId(place.deps);
  await runs.keys.createRun(runId);
  const options = { runId, name: "bench", buildOutput: [], output: { usedBytes: 0 } };
  const workspace = undo.use(await runs.workspace.createWorkspace(base, options, signal));
  const pages = undo.use(await createSavedPages(join(place.folder, `${runId}-pages`)));
  const run: OpenedGateway["run"] = {
    runId,
    traceId: runs.keys.traceId(runId),
    attempt: 0,
    lease: { runId, fencingToken: 1 },
    requester: { id: "local:bench", login: "bench", permission: "admin" },
    requesterReference: "bench",
    repository,
    repositoryPolicies: noRepositoryPolicies,
    runState: (): RunStatus => "in_progress",
    budgetLeft: () => ({ steps: 1_000, tokens: 1_000_000, seconds: 3_600 }),
    workspace,
    ...withoutGithub,
    fingerprints: createFingerprints(),
    pages,
    settings: { verifyCommand: null, verifyTimeoutMs: 0, verifyFilter: null, setupCommand: null, setupTimeoutMs: 0 },
    approvalChannel: "none",
    runKey: await runs.keys.runKey(runId),
    onRecordedChange: () => undefined,
  };
  const deps: GatewayDeps = {
    clock: place.deps.clock,
    randomBytes: place.deps.randomBytes,
    catalogue: withEmptyFinish(runs.catalogue),
    ledger: runs.ledger,
    authorize: runs.policies.authorize,
    openQuestions: new Map(),
    readHalt: (id) => readHalt(runs.store.db, id),
    approvalExpiresAfterMs: 60_000,
    delay: () => Promise.resolve(),
  };
  const close = undo.move();
  return { deps, run, [Symbol.asyncDispose]: () => close.disposeAsync() };
}

function withEmptyFinish(catalogue: Catalogue): Catalogue {
  const finish = catalogue.get("finish");
  if (finish === undefined) throw new Error("the catalogue has no `finish`");
  // Its effect is none in any case; here it doesn't look at the tree either.
  const plan = { hasNothingToDo: false };
  const empty: typeof finish = {
    ...finish,
    prepare: () => Promise.resolve({ kind: "ready", plan, preconditions: [], intent: {} }),
  };
  return new Map([...catalogue, ["finish", empty]]);
}
