import { randomBytes } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { vi } from "vitest";
import {
  type ActionId,
  type ActionState,
  type ApprovalId,
  type ChangeSet,
  newActionId,
  newDecisionId,
  type ProposedAction,
} from "../../src/domain/index.ts";
import {
  type ActionSettings,
  type ApprovalAnswer,
  createCatalogue,
  createFingerprints,
  createSavedPages,
  type GatewayDeps,
  type PassedChangeSet,
  perform,
  type RunContext,
} from "../../src/gateway/index.ts";
import {
  type AuditedAction,
  type Ledger,
  openKeys,
  readActionTexts,
  showAction,
  type Verification,
  verifyStored,
} from "../../src/ledger/index.ts";
import { loadPolicies, noRepositoryPolicies, type PolicyEngine } from "../../src/policy/index.ts";
import { readHalt } from "../../src/store/index.ts";
import type { Workspace } from "../../src/workspace/index.ts";
import { createGithubWorld } from "./github-world.ts";
import { publishedChanges, runBranch } from "./sample-arguments.ts";
import { openTestLedger, startOfTime, type TestLedger } from "./test-ledger.ts";
import { openTestStore, type TestStore } from "./test-store.ts";

/** A real database on a busy machine takes its time to start, and a limit is there for hangs alone. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

export const never = new AbortController().signal;
const standardPolicies = fileURLToPath(new URL("../../policies/standard", import.meta.url));
export const approvalMs = 3_600_000;

const settings: ActionSettings = {
  verifyCommand: "make test",
  verifyTimeoutMs: 600_000,
  verifyFilter: null,
  setupCommand: null,
  setupTimeoutMs: 600_000,
};

/** A person who answers, as the ledger knows them. */
export const aPerson = { kind: "person", reference: "3f9a1c55d0e84b7b" } as const;
export const aYes: ApprovalAnswer = { kind: "granted", actor: aPerson, reason: "" };

type SealedTexts = {
  readonly [Field in
    | "raw"
    | "tool"
    | "arguments"
    | "request"
    | "errors"
    | "intent"
    | "result"
    | "reason"
    | "bindings"
    | "exchange"]?: string | undefined;
};

/** What another process finds of an action in the database. */
export type ReadAgain = {
  readonly action: AuditedAction;
  readonly states: readonly ActionState[];
  /** Sealed texts, opened, by field; the newest of each. */
  readonly texts: SealedTexts;
  readonly verification: Verification;
  /** Database transactions that wrote the action's entries. */
  readonly transactionCount: number;
};

/** The gateway with its real ledger, database, policies and catalogue; a clock that stands still until told. */
export type TestGateway = AsyncDisposable & {
  readonly store: TestStore;
  readonly log: TestLedger;
  readonly policies: PolicyEngine;
  readonly deps: GatewayDeps;
  /** A run of its own, with what a test wants different. */
  newRun(workspace: Workspace | null, changes?: Partial<RunContext>): Promise<TestRun>;
  /** Opens the database and the keys anew and reads everything back. */
  readAgain(actionId: ActionId): Promise<ReadAgain>;
};

export type TestRun = RunContext & { readonly recorded: { actionId: ActionId; changeSet: ChangeSet }[] };

export const loadStandardFor = (folder: string = standardPolicies): Promise<PolicyEngine> =>
  loadPolicies(
    { clock: () => 0, newDecisionId: () => newDecisionId({ clock: () => startOfTime, randomBytes }) },
    folder,
    [...createCatalogue().values()],
  );

export async function openTestGateway(): Promise<TestGateway> {
  await using undo = new AsyncDisposableStack();
  const store = undo.use(await openTestStore());
  const log = undo.use(await openTestLedger(store));
  const policies = await loadStandardFor();
  const deps: GatewayDeps = {
    clock: () => log.now.ms,
    randomBytes,
    catalogue: createCatalogue(),
    ledger: log.ledger,
    authorize: policies.authorize,
    openQuestions: new Map(),
    readHalt: (runId) => readHalt(store.db, runId),
    approvalExpiresAfterMs: approvalMs,
    delay: (_waitMs, signal) => (signal.aborted ? Promise.reject(signal.reason) : Promise.resolve()),
  };
  const owned = undo.move();
  return {
    store,
    log,
    policies,
    deps,
    newRun: async (workspace, changes = {}) => aRun(log, owned, workspace, changes),
    readAgain: (actionId) => readAgain(store, log, actionId),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function aRun(
  log: TestLedger,
  owned: AsyncDisposableStack,
  workspace: Workspace | null,
  changes: Partial<RunContext>,
): Promise<TestRun> {
  const lease = await log.newRun();
  const pages = owned.use(await createSavedPages(await mkdtemp(join(tmpdir(), "countersign-pages-"))));
  const recorded: TestRun["recorded"] = [];
  return {
    runId: lease.runId,
    traceId: log.keys.traceId(lease.runId),
    attempt: 0,
    lease,
    requester: { id: "1001", login: "ada", permission: "write" },
    requesterReference: "5be1c0ffee5be1c0",
    repository: { id: "2001", name: "ada/engine" },
    repositoryPolicies: noRepositoryPolicies,
    runState: () => "in_progress",
    budgetLeft: () => ({ steps: 50, tokens: 100_000, seconds: 1_800 }),
    workspace,
    github: createGithubWorld().writer,
    runBranch,
    publishing: { changeSet: passed(publishedChanges) },
    isPathApproved: () => false,
    fingerprints: createFingerprints(),
    pages,
    settings,
    approvalChannel: "terminal",
    runKey: await log.keys.runKey(lease.runId),
    onRecordedChange: (actionId, changeSet) => recorded.push({ actionId, changeSet }),
    recorded,
    ...changes,
  };
}

async function readAgain(store: TestStore, log: TestLedger, actionId: ActionId): Promise<ReadAgain> {
  await using again = await openTestStore({ database: store.database });
  const keys = await openKeys({ randomBytes }, log.keysFolder);
  const shown = await showAction(again, actionId);
  const action = shown?.actions[0];
  if (action === undefined) throw new Error(`the ledger has no action ${actionId}`);
  const texts = await readActionTexts({ store: again, keys }, actionId);
  const [count] = await again.sql<{ count: string }>(
    "select count(distinct xmin::text) as count from ledger_entries where action_id = $1",
    [actionId],
  );
  return {
    action,
    states: action.states.map(({ state }) => state),
    texts: Object.fromEntries(
      texts.map(({ field, bytes }) => [field, Buffer.from(bytes ?? []).toString()]),
    ) as SealedTexts,
    verification: await verifyStored({ store: again, keys }),
    transactionCount: Number(count?.count),
  };
}

/** As if the commit gate had let it through. */
export const passed = (changeSet: ChangeSet): PassedChangeSet => changeSet as PassedChangeSet;

let ordinal = 0;

/** A call of the model; `args` as text is sent as it is. */
export function aCall(
  run: RunContext,
  tool: string,
  args: unknown,
  changes: Partial<ProposedAction> = {},
): ProposedAction {
  ordinal += 1;
  return {
    actionId: newActionId({ clock: () => startOfTime, randomBytes }),
    runId: run.runId,
    principal: { kind: "run", runId: run.runId },
    tool,
    rawArguments: typeof args === "string" ? args : JSON.stringify(args),
    call: { toolCallId: `call_${ordinal}`, turn: 1, ordinal, modelResponseId: "response_1" },
    compensates: null,
    ...changes,
  };
}

/** A proposal of the host's own. */
export const aHostsCall = (run: RunContext, tool: string, args: unknown): ProposedAction =>
  aCall(run, tool, args, { principal: { kind: "system" }, call: null });

/** The host's proposal, and what it came to. */
export const hostCall = (gateway: TestGateway, run: RunContext, tool: string, args: unknown, signal = never) =>
  perform(gateway.deps, run, aHostsCall(run, tool, args), signal);

/** Makes the call and gives what it came to. */
export const call = (gateway: TestGateway, run: RunContext, tool: string, args: unknown) =>
  perform(gateway.deps, run, aCall(run, tool, args), never);

export const approvalOf = ({ approvalId }: { readonly approvalId: ApprovalId | null }): ApprovalId => {
  if (approvalId === null) throw new Error("nothing waits for an approval");
  return approvalId;
};

/** A ledger that does something before or instead of its n-th append (from 1). */
export function interceptedLedger(ledger: Ledger, before: (count: number) => Promise<void>): Ledger {
  let count = 0;
  return {
    ...ledger,
    append: async (...parts) => {
      count += 1;
      await before(count);
      return ledger.append(...parts);
    },
  };
}
