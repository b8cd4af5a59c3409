import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { type ActionOutcome, type LedgerEntry, newActionId, newRunId, type RunId } from "../../src/domain/index.ts";
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
import { type Case, links, oracle, type PathKind, paths, type ToolKind, tools, type Verdict } from "./oracle.ts";

const catalogue = createCatalogue();
const ids = { clock: () => startOfTime, randomBytes };
const numRuns = 1_500;

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

function aRun(changes: Partial<RunContext> = {}): RunContext {
  const runId = newRunId(ids);
  const workspace = createFakeWorkspace({ "src/a.ts": "a" });
  const followed = (path: string): string => {
    const [first = "", ...rest] = path.replace(/^(\.\/)+/, "").split("/");
    return [links[first] ?? first, ...rest].join("/");
  };
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
    workspace: {
      ...workspace,
      resolve: async (path) => {
        const place = await workspace.resolve(followed(path));
        return { ...place, requested: path };
      },
    },
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
    ...changes,
  };
}

function propose(
  run: RunContext,
  tool: string,
  args: unknown,
  proposer: RunId | null = run.runId,
): Promise<ActionOutcome> {
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
  const principal = proposer === null ? ({ kind: "system" } as const) : ({ kind: "run", runId: proposer } as const);
  const proposed = { actionId: newActionId(ids), runId: run.runId, principal, tool, call: null, compensates: null };
  return perform(deps, run, { ...proposed, rawArguments: JSON.stringify(args) }, never);
}

/** What came of it, in the oracle's words. A call that was allowed may still find no such file. */
function verdictOf({ state, decision }: ActionOutcome): Verdict {
  if (state === "denied") return "denied";
  if (state === "approval_pending") return "asked";
  return decision?.effect === "allow" ? "allowed" : "invalid";
}

/** Spellings of a path that mean the same to the design: case and unseen code points in names, `.`, `..` and `//` between them. */
const spellings: Readonly<Record<string, (path: string, kind: PathKind) => string>> = {
  plain: (path) => path,
  dot: (path, kind) => (kind === "outside" ? path : `./${path}`),
  upper: (path, kind) => (isLinked(path) || kind === "outside" ? path : path.toUpperCase()),
  unseen: (path, kind) => (isLinked(path) || kind === "outside" ? path : path.replace(/g/, "g\u200b")),
  slashes: (path) => path.replace(/(?<=.)\//g, "//"),
  detour: (path, kind) => (isLinked(path) || kind === "outside" || kind === "malformed" ? path : `lib/x/../../${path}`),
};
const isLinked = (path: string): boolean => Object.hasOwn(links, path.split("/")[0] ?? "");

type Generated = Case & { readonly tool: string; readonly path: string; readonly args: unknown };

const generated: fc.Arbitrary<Generated> = fc
  .record({
    toolKind: fc.constantFrom<ToolKind>("read", "read", "change", "change", "change", "command", "end", "none"),
    kind: fc.constantFrom<PathKind>(
      "outside",
      "malformed",
      "git",
      "steering",
      "guarded",
      "guarded",
      "ordinary",
      "ordinary",
    ),
    permission: fc.constantFrom("admin", "maintain", "write", "write", "write", "read", "none"),
    isOver: fc.nat(9).map((roll) => roll === 0),
    isForeign: fc.nat(9).map((roll) => roll === 0),
    fitsSchema: fc.nat(9).map((roll) => roll > 0),
    canAsk: fc.boolean(),
    spelling: fc.constantFrom(...Object.keys(spellings)),
    pick: fc.nat(),
  })
  .map(({ toolKind, kind, spelling, pick, permission, ...facts }): Generated => {
    const tool = tools[toolKind][pick % tools[toolKind].length] ?? "";
    const plain = paths[kind][pick % paths[kind].length] ?? "";
    const path = spellings[spelling]?.(plain, kind) ?? plain;
    const takesPath = toolKind === "read" || toolKind === "change";
    const samples = toolKind === "none" ? [{ path }] : sampleArguments(tool);
    const sample = samples[pick % samples.length];
    const args = { ...sample, ...(takesPath ? { path } : {}), ...(facts.fitsSchema ? {} : { sudo: true }) };
    return {
      ...facts,
      toolKind,
      permission: permission as Case["permission"],
      pathKind: takesPath ? kind : null,
      tool,
      path,
      args,
    };
  });

describe("every proposal is decided as the design's table says", () => {
  it(`has no wrong allow and no wrong denial in ${numRuns} requests, hostile and legitimate`, async () => {
    const seen: Record<Verdict, number> = { invalid: 0, denied: 0, asked: 0, allowed: 0 };

    await fc.assert(
      fc.asyncProperty(generated, async (one) => {
        const run = aRun({
          requester: { id: "1001", login: "ada", permission: one.permission },
          runState: () => (one.isOver ? "completed" : "in_progress"),
          approvalChannel: one.canAsk ? "terminal" : "none",
        });

        const outcome = await propose(run, one.tool, one.args, one.isForeign ? newRunId(ids) : run.runId);

        seen[verdictOf(outcome)] += 1;
        expect(outcome.decision?.errors ?? []).toEqual([]);
        expect(verdictOf(outcome)).toBe(oracle(one));
      }),
      { numRuns },
    );

    expect(Math.min(...Object.values(seen))).toBeGreaterThan(numRuns / 150);
  });
});

describe("catalogue, request and Cedar schema agree", () => {
  it.each([...catalogue.keys()])("%s is decided without an error, whatever optional field is there", async (name) => {
    for (const args of sampleArguments(name)) {
      const run = aRun();
      const isHosts = catalogue.get(name)?.description === null;

      const { decision } = await propose(run, name, args, isHosts ? null : run.runId);

      expect(decision).toMatchObject({ effect: "allow", errors: [] });
      expect(decision?.policyIds).not.toContain("policy_error");
    }
  });
});
