import {
  type ActionOutcome,
  type ApprovalId,
  createRedactor,
  type IdSource,
  isCountersignError,
  type LedgerEntry,
  newActionId,
  newApprovalId,
  newRunId,
} from "../../domain/index.ts";
import {
  answerApproval,
  createCatalogue,
  createFingerprints,
  type GatewayDeps,
  passCommitGate,
  perform,
  type RunContext,
} from "../../gateway/index.ts";
import { noRepositoryPolicies, type PolicyEngine } from "../../policy/index.ts";
import { type CountingHands, createCountingHands } from "./hands.ts";
import { isCarriedOut, oracle, type Verdict } from "./oracle.ts";
import { aRequest, type HostileRequest, ownBranch } from "./requests.ts";
import { seededRandom } from "./seeded.ts";

/** How the gateway's answers to generated requests compare with the design's table. */
export type Judged = {
  readonly count: number;
  readonly verdicts: Readonly<Record<Verdict, number>>;
  /** Questions that a person answered, or an impostor. */
  readonly answered: number;
  /** What was done, or would have been, against the table: the request and what came of it. */
  readonly wrongAllows: readonly string[];
  readonly wrongDenials: readonly string[];
};

type JudgeDeps = IdSource & Pick<GatewayDeps, "authorize">;
type Stage = { readonly deps: GatewayDeps; readonly run: RunContext; readonly hands: CountingHands };

const never = new AbortController().signal;
const catalogue = createCatalogue();
const expiresAfterMs = 60_000;

/** The log in memory: what is decided is looked at here, not how it is kept. */
const inMemory: GatewayDeps["ledger"] = {
  origin: "countersign/bench",
  append: (_run, batch) => Promise.resolve(batch.entries as readonly LedgerEntry[]),
  head: () => Promise.reject(new Error("no head in memory")),
};

/** Generates so many requests from a seed and holds each answer of the real gateway against the oracle. */
export async function judgeRequests(
  ids: IdSource & { readonly policies: Pick<PolicyEngine, "authorize"> },
  { count, seed }: { readonly count: number; readonly seed: number },
  signal: AbortSignal,
): Promise<Judged> {
  const random = seededRandom(seed);
  const verdicts: Record<Verdict, number> = { invalid: 0, denied: 0, asked: 0, allowed: 0 };
  const faults: Fault[] = [];
  let answered = 0;
  for (let at = 0; at < count; at += 1) {
    signal.throwIfAborted();
    const request = aRequest(random);
    const stage = await setStage({ ...ids, authorize: ids.policies.authorize }, request);
    const outcome = await propose(stage, request);
    verdicts[verdictOf(outcome)] += 1;
    faults.push(...judgeProposal(stage, request, outcome));
    if (outcome.approvalId === null) continue;
    answered += 1;
    faults.push(...judgeAnswer(request, await answer(stage, request, outcome.approvalId)));
  }
  const wrong = (kind: Fault["kind"]): readonly string[] =>
    faults.flatMap((one) => (one.kind === kind ? one.told : []));
  return { count, verdicts, answered, wrongAllows: wrong("allow"), wrongDenials: wrong("denial") };
}

type Fault = { readonly kind: "allow" | "denial"; readonly told: string };

function judgeProposal({ hands }: Stage, request: HostileRequest, outcome: ActionOutcome): readonly Fault[] {
  const [expected, got] = [oracle(request), verdictOf(outcome)];
  const isDone = hands.used() > 0 && expected !== "allowed";
  if (got === expected && !isDone) return [];
  const why = outcome.refusal?.code ?? outcome.state;
  const told = `${describe(request)}: expected ${expected}, got ${got} (${why})`;
  return [{ kind: isDone || rank[got] > rank[expected] ? "allow" : "denial", told }];
}

function judgeAnswer(request: HostileRequest, isDone: boolean): readonly Fault[] {
  if (isDone === isCarriedOut(request.answer)) return [];
  return [{ kind: isDone ? "allow" : "denial", told: `${describe(request)}: after the answer` }];
}

const describe = (request: HostileRequest): string =>
  JSON.stringify({ ...request, rawArguments: request.rawArguments.slice(0, 200) });

/** From what does least to what does most; `invalid` and `denied` are two words for nothing done, and must not be mixed up either. */
const rank: Readonly<Record<Verdict, number>> = { invalid: 0, denied: 0, asked: 1, allowed: 2 };

/** What came of it, in the oracle's words. A call that was allowed may still find no such file. */
function verdictOf({ state, decision }: ActionOutcome): Verdict {
  if (state === "denied") return "denied";
  if (state === "approval_pending") return "asked";
  return decision?.effect === "allow" ? "allowed" : "invalid";
}

async function setStage(judge: JudgeDeps, request: HostileRequest): Promise<Stage> {
  const hands = createCountingHands();
  const deps: GatewayDeps = {
    ...judge,
    catalogue,
    ledger: inMemory,
    openQuestions: new Map(),
    readHalt: () => Promise.resolve(null),
    approvalExpiresAfterMs: expiresAfterMs,
    delay: () => Promise.resolve(),
  };
  return { deps, hands, run: await runFor(judge, request, hands) };
}

async function runFor(judge: JudgeDeps, request: HostileRequest, hands: CountingHands): Promise<RunContext> {
  const runId = newRunId(judge);
  return {
    runId,
    traceId: "0".repeat(32) as RunContext["traceId"],
    attempt: 0,
    lease: { runId, fencingToken: 1 },
    requester: { id: "1001", login: "ada", permission: request.permission },
    requesterReference: "5be1c0ffee5be1c0",
    repository: { id: "2001", name: "ada/engine" },
    repositoryPolicies: noRepositoryPolicies,
    runState: () => (request.isOver ? "completed" : "in_progress"),
    budgetLeft: () => ({ steps: 50, tokens: 100_000, seconds: 1_800 }),
    workspace: hands.workspace,
    fingerprints: createFingerprints(),
    pages: {
      keep: () => Promise.resolve("out:1"),
      read: () => Promise.resolve(null),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },
    github: hands.writer,
    runBranch: ownBranch,
    publishing: request.tool === "push_commit" ? { changeSet: await deletionOf(request.path) } : null,
    isPathApproved: () => false,
    settings: {
      verifyCommand: "make test",
      verifyTimeoutMs: 60_000,
      verifyFilter: "make test F={filter}",
      setupCommand: null,
      setupTimeoutMs: 60_000,
    },
    approvalChannel: request.canAsk ? "terminal" : "none",
    runKey: judge.randomBytes(32),
    onRecordedChange: () => undefined,
  };
}

/** A change set that the commit gate let through: one file less. */
async function deletionOf(path: string) {
  const before = { mode: "100644", blobSha: "3".repeat(40), sizeBytes: 6 } as const;
  const answered = await passCommitGate(
    { redactor: createRedactor([]) },
    {
      changeSet: { changes: [{ path, before, after: null }] },
      readBase: () => Promise.resolve(null),
      texts: [],
      limits: { files: 10, lines: 10 },
      lineCount: 1,
    },
  );
  if (answered.kind === "refused") throw new Error(`the commit gate refused a deletion: ${answered.causes.join()}`);
  return answered.changeSet;
}

function propose(stage: Stage, request: Pick<HostileRequest, "tool" | "toolKind" | "isForeign" | "rawArguments">) {
  const { deps, run } = stage;
  const runId = request.isForeign ? newRunId(deps) : run.runId;
  const principal = request.toolKind === "publish" ? ({ kind: "system" } as const) : ({ kind: "run", runId } as const);
  const { tool, rawArguments } = request;
  const call = { actionId: newActionId(deps), runId: run.runId, principal, tool, call: null, compensates: null };
  return perform(deps, run, { ...call, rawArguments }, never);
}

const aPerson = { kind: "person", reference: "3f9a1c55d0e84b7b" } as const;
const yes = { kind: "granted", actor: aPerson, reason: "" } as const;

/** Does with the question what the request says. True: what was asked for was let through. */
async function answer(stage: Stage, request: HostileRequest, approvalId: ApprovalId): Promise<boolean> {
  const { deps, run, hands } = stage;
  const say = (given: Parameters<typeof answerApproval>[3], id = approvalId, by = deps, where = run) =>
    isLetThrough(stage, () => answerApproval(by, where, id, given, never));
  switch (request.answer) {
    case "yes":
      return say(yes);
    case "no":
      return say({ ...yes, kind: "refused" });
    case "late":
      return say(yes, approvalId, { ...deps, clock: () => deps.clock() + expiresAfterMs });
    case "again":
      await say(yes);
      return say(yes);
    case "unknown_id":
      return say(yes, newApprovalId(deps));
    case "other_run": {
      const runId = newRunId(deps);
      return say(yes, approvalId, deps, { ...run, runId, lease: { ...run.lease, runId } });
    }
    case "other_words":
      await say(yes);
      return isLetThrough(stage, () => propose(stage, { ...request, rawArguments: reworded(request.rawArguments) }));
    case "other_content":
      hands.changeContent();
      return say(yes);
  }
}

/** Other arguments for the same path. */
const reworded = (text: string): string => JSON.stringify(JSON.parse(text)).replace(/"(x|b)"/, '"y"');

async function isLetThrough({ hands }: Stage, act: () => Promise<ActionOutcome>): Promise<boolean> {
  const before = hands.used();
  try {
    const { decision } = await act();
    return decision?.effect === "allow" || hands.used() > before;
  } catch (error) {
    if (!isCountersignError(error, "APPROVAL_NOT_OPEN")) throw error;
    return hands.used() > before;
  }
}
