import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { judgeRequests } from "../../src/bench/index.ts";
import { type ActionOutcome, type LedgerEntry, newActionId, newRunId } from "../../src/domain/index.ts";
import {
  type ActionSettings,
  createCatalogue,
  createFingerprints,
  type GatewayDeps,
  perform,
  type RunContext,
} from "../../src/gateway/index.ts";
import { noRepositoryPolicies, type PolicyEngine } from "../../src/policy/index.ts";
import { createFakeWorkspace } from "../support/fake-workspace.ts";
import { loadStandardFor, never, passed } from "../support/gateway.ts";
import { createGithubWorld } from "../support/github-world.ts";
import { publishedChanges, runBranch, sampleArguments } from "../support/sample-arguments.ts";
import { startOfTime } from "../support/test-ledger.ts";

const catalogue = createCatalogue();
const ids = { clock: () => startOfTime, randomBytes };
const count = 1_000;

/** The log in memory: what is decided is looked at here, not how it is kept. */
const inMemory: GatewayDeps["ledger"] = {
  origin: "countersign/test",
  append: (_run, batch) => Promise.resolve(batch.entries as readonly LedgerEntry[]),
  head: () => Promise.reject(new Error("no head in memory")),
};

const settings: ActionSettings = {
  verifyCommand: "make test",
  verifyTimeoutMs: 60_000,
  verifyFilter: "make test F={filter}",
  setupCommand: null,
  setupTimeoutMs: 60_000,
};

let policies: PolicyEngine;
beforeAll(async () => {
  policies = await loadStandardFor();
});

function aRun(): RunContext {
  const runId = newRunId(ids);
  return {
    runId,
    traceId: "0".repeat(32) as RunContext["traceId"],
    attempt: 0,
    lease: { runId, fencingToken: 1 },
    requester: { id: "1001", login: "ada", permission: "write" },
    requesterReference: "5be1c0ffee5be1c0",
    repository: { id: "2001", name: "ada/engine" },
    repositoryPolicies: noRepositoryPolicies,
    runState: () => "in_progress",
    budgetLeft: () => ({ steps: 50, tokens: 100_000, seconds: 1_800 }),
    workspace: createFakeWorkspace({ "src/a.ts": "a" }),
    fingerprints: createFingerprints(),
    pages: {
      keep: () => Promise.resolve("out:1"),
      read: () => Promise.resolve(null),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },
    github: createGithubWorld().writer,
    runBranch,
    publishing: { changeSet: passed(publishedChanges) },
    isPathApproved: () => false,
    settings,
    approvalChannel: "terminal",
    runKey: randomBytes(32),
    onRecordedChange: () => undefined,
  };
}

function propose(run: RunContext, tool: string, args: unknown, isHosts: boolean): Promise<ActionOutcome> {
  const deps: GatewayDeps = {
    ...ids,
    catalogue,
    ledger: inMemory,
    authorize: policies.authorize,
    openQuestions: new Map(),
    readHalt: () => Promise.resolve(null),
    approvalExpiresAfterMs: 60_000,
    delay: () => Promise.resolve(),
  };
  const principal = isHosts ? ({ kind: "system" } as const) : ({ kind: "run", runId: run.runId } as const);
  const proposed = { actionId: newActionId(ids), runId: run.runId, principal, tool, call: null, compensates: null };
  return perform(deps, run, { ...proposed, rawArguments: JSON.stringify(args) }, never);
}

describe("every proposal is decided as the design's table says", () => {
  it(`has no wrong allow and no wrong denial in ${count} requests, half of them hostile (AUD-14, AUD-19, AUD-23)`, async () => {
    const judged = await judgeRequests({ ...ids, policies }, { count, seed: 7 }, never);

    expect(judged.wrongAllows).toEqual([]);
    expect(judged.wrongDenials).toEqual([]);
    expect(Math.min(...Object.values(judged.verdicts), judged.answered)).toBeGreaterThan(count / 50);
  });
});

describe("catalogue, request and Cedar schema agree", () => {
  it.each([...catalogue.keys()])("%s is decided without an error, whatever optional field is there", async (name) => {
    for (const args of sampleArguments(name)) {
      const run = aRun();
      const isHosts = catalogue.get(name)?.description === null;

      const { decision } = await propose(run, name, args, isHosts);

      expect(decision).toMatchObject({ effect: "allow", errors: [] });
      expect(decision?.policyIds).not.toContain("policy_error");
    }
  });
});
