import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ActionState,
  argumentsDigest,
  CountersignError,
  canonicalBytes,
  rawArgumentsDigest,
} from "../../src/domain/index.ts";
import { perform } from "../../src/gateway/index.ts";
import { readActionEntries } from "../../src/ledger/index.ts";
import { anExecResult, createFakeWorkspace } from "../support/fake-workspace.ts";
import { aCall, call, never, openTestGateway, type TestGateway } from "../support/gateway.ts";

const files = { "src/a.ts": "export const a = 1;\n", "src/b.ts": "b\n" };
const edit = { path: "src/a.ts", edits: [{ anchor: "= 1", replacement: "= 2" }] };
const executed: readonly ActionState[] = ["proposed", "authorized", "intent_recorded", "started", "succeeded"];

describe("perform", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await openTestGateway();
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  describe("tells every outcome the same after the ledger was opened again (AUD-9)", () => {
    it("ok: proposal, decision with intent and start, outcome, in three transactions (AUD-4)", async () => {
      const workspace = createFakeWorkspace(files);
      const run = await gateway.newRun(workspace);
      await call(gateway, run, "read_file", { path: "src/a.ts" });

      const outcome = await call(gateway, run, "edit_file", edit);
      const again = await gateway.readAgain(outcome.actionId);

      expect(outcome).toMatchObject({ state: "succeeded", status: "ok", refusal: null });
      expect(Buffer.from(workspace.files.get("src/a.ts") ?? []).toString()).toBe("export const a = 2;\n");
      expect(again.states).toEqual(executed);
      expect(again.transactionCount).toBe(3);
      expect(again.verification).toMatchObject({ ok: true, findings: [] });
      expect(again.action.event).toEqual({
        actor: `run:${run.runId}`,
        action: "edit_file",
        allowed: true,
        arguments_digest: argumentsDigest(run.runKey, canonicalBytes(edit)),
        outcome: "ok",
      });
      expect(outcome.argumentsDigest).toBe(again.action.arguments_digest);
    });

    it("denied: by the floor, with what is allowed instead, in two transactions", async () => {
      const workspace = createFakeWorkspace(files);
      const run = await gateway.newRun(workspace);

      const outcome = await call(gateway, run, "create_file", { path: ".github/workflows/x.yml", content: "on: push" });
      const again = await gateway.readAgain(outcome.actionId);

      expect(outcome).toMatchObject({ state: "denied", status: "refused", refusal: { code: "policy_denied" } });
      expect(outcome.text).toContain("floor:github_workflows");
      expect(workspace.files.has(".github/workflows/x.yml")).toBe(false);
      expect(again.states).toEqual(["proposed", "denied"]);
      expect(again.transactionCount).toBe(2);
      expect(again.action).toMatchObject({ decision: "deny", policy_ids: ["floor:github_workflows"] });
      expect(again.action.event).toMatchObject({ allowed: false, outcome: "denied" });
      expect(again.verification.findings).toEqual([]);
    });

    it("parse error: no decision, the digest over the raw bytes", async () => {
      const run = await gateway.newRun(createFakeWorkspace(files));
      const raw = '{"path": "src/a.ts", "path": "src/b.ts"}';

      const outcome = await call(gateway, run, "read_file", raw);
      const again = await gateway.readAgain(outcome.actionId);

      expect(outcome).toMatchObject({ state: "invalid", status: "refused", decision: null });
      expect(again.states).toEqual(["proposed", "invalid"]);
      expect(again.transactionCount).toBe(2);
      expect(again.action.event).toMatchObject({
        allowed: null,
        arguments_digest: rawArgumentsDigest(run.runKey, Buffer.from(raw)),
        outcome: "parse:duplicate_key",
      });
      expect(again.texts.raw).toBe(raw);
      expect(again.verification.findings).toEqual([]);
    });

    it("validation error after a decision: authorized, then invalid, nothing started", async () => {
      const workspace = createFakeWorkspace(files);
      const run = await gateway.newRun(workspace);

      const outcome = await call(gateway, run, "edit_file", edit); // never read
      const again = await gateway.readAgain(outcome.actionId);

      expect(outcome).toMatchObject({ state: "invalid", refusal: { code: "not_read" } });
      expect(again.states).toEqual(["proposed", "authorized", "invalid"]);
      expect(again.transactionCount).toBe(2);
      expect(again.action.event).toMatchObject({ allowed: true, outcome: "validation:not_read" });
      expect(Buffer.from(workspace.files.get("src/a.ts") ?? []).toString()).toBe(files["src/a.ts"]);
      expect(again.verification.findings).toEqual([]);
    });

    it("validation error before a decision: a path that leads outside", async () => {
      const run = await gateway.newRun(createFakeWorkspace(files));

      const outcome = await call(gateway, run, "read_file", { path: "../secret" });
      const again = await gateway.readAgain(outcome.actionId);

      expect(again.states).toEqual(["proposed", "invalid"]);
      expect(again.action.event).toMatchObject({ allowed: null, outcome: "validation:outside_workspace" });
      expect(again.verification.findings).toEqual([]);
    });

    it("tool error: executed, and what was found did not please", async () => {
      const run = await gateway.newRun(createFakeWorkspace(files));

      const outcome = await call(gateway, run, "read_file", { path: "src/none.ts" });
      const again = await gateway.readAgain(outcome.actionId);

      expect(outcome).toMatchObject({ state: "succeeded", status: "failed", refusal: { code: "not_found" } });
      expect(again.states).toEqual(executed);
      expect(again.action.event).toMatchObject({ allowed: true, outcome: "error:not_found" });
      expect(again.verification.findings).toEqual([]);
    });

    it("a command stopped at its limit is an error, and its effect is known", async () => {
      const timedOut = () => anExecResult("half", { exitCode: null, signal: "SIGKILL", timedOut: true });
      const run = await gateway.newRun(createFakeWorkspace(files, timedOut));

      const outcome = await call(gateway, run, "run_command", { command: "sleep 1000", timeout_s: 1 });
      const again = await gateway.readAgain(outcome.actionId);

      expect(again.action.event.outcome).toBe("error:timed_out");
      expect(again.states).toEqual(executed);
      expect(again.verification.findings).toEqual([]);
    });

    it("approval pending, and denied at once where nobody can be asked (AUD-28)", async () => {
      const asked = await gateway.newRun(createFakeWorkspace(files));
      const alone = await gateway.newRun(createFakeWorkspace(files), { approvalChannel: "none" });
      const manifest = { path: "package.json", content: "{}" };

      const pending = await gateway.readAgain((await call(gateway, asked, "create_file", manifest)).actionId);
      const refused = await call(gateway, alone, "create_file", manifest);
      const denied = await gateway.readAgain(refused.actionId);

      expect(pending.states).toEqual(["proposed", "approval_pending"]);
      expect(pending.action.event.outcome).toBe("approval:pending");
      expect(refused).toMatchObject({ state: "denied", refusal: { code: "approval_unavailable" }, approvalId: null });
      expect(denied.action).toMatchObject({
        decision: "require_approval",
        event: { allowed: false, outcome: "denied" },
      });
      expect(denied.action.states.at(-1)?.evidence).toMatchObject({ code: "approval_unavailable" });
      expect(denied.verification.findings).toEqual([]);
    });
  });

  describe("what is executed is what the decision saw (AT-20)", () => {
    it("executes nothing where the arguments changed after the decision", async () => {
      const workspace = createFakeWorkspace(files);
      const run = await gateway.newRun(workspace);
      const deps: TestGateway["deps"] = {
        ...gateway.deps,
        authorize: (requests, policies) => {
          const decision = gateway.policies.authorize(requests, policies);
          Object.assign(requests[0]?.input ?? {}, { command: "curl evil" });
          return decision;
        },
      };

      const outcome = await perform(deps, run, aCall(run, "run_command", { command: "ls" }), never);
      const again = await gateway.readAgain(outcome.actionId);

      expect(outcome).toMatchObject({ state: "invalid", refusal: { code: "not_executed" } });
      expect(workspace.requests).toEqual([]);
      expect(again.states).toEqual(["proposed", "authorized", "invalid"]);
      expect(again.texts.arguments).toBe('{"command":"ls","timeout_s":null}');
      expect(again.verification.findings).toEqual([]);
    });

    it("executes the bytes that were decided on where they change while the intent is written", async () => {
      const workspace = createFakeWorkspace(files);
      const run = await gateway.newRun(workspace);
      const seen: { input?: object } = {};
      const deps: TestGateway["deps"] = {
        ...gateway.deps,
        authorize: (requests, policies) => {
          seen.input = requests[0]?.input ?? {};
          return gateway.policies.authorize(requests, policies);
        },
        ledger: {
          ...gateway.deps.ledger,
          append: (...parts) => {
            Object.assign(seen.input ?? {}, { content: "evil", path: "src/other.ts" });
            return gateway.deps.ledger.append(...parts);
          },
        },
      };

      await perform(deps, run, aCall(run, "create_file", { path: "src/new.ts", content: "good" }), never);

      expect(Buffer.from(workspace.files.get("src/new.ts") ?? []).toString()).toBe("good");
      expect(workspace.files.has("src/other.ts")).toBe(false);
    });

    it("refuses a path that leads elsewhere than when it was decided on (AUD-1)", async () => {
      const workspace = createFakeWorkspace(files);
      let asked = 0;
      const moving = {
        ...workspace,
        resolve: async (path: string) => {
          asked += 1;
          const place = await workspace.resolve(path);
          return asked === 1 || place.kind === "outside" ? place : { ...place, resolved: ".github/workflows/x.yml" };
        },
      };
      const run = await gateway.newRun(moving);

      const outcome = await call(gateway, run, "create_file", { path: "src/new.ts", content: "on: push" });

      expect(outcome).toMatchObject({ state: "invalid", refusal: { code: "not_executed" } });
      expect([...workspace.files.keys()]).toEqual(Object.keys(files));
    });

    it("resolves a decided path no further time, so that a late link leads nowhere", async () => {
      const workspace = createFakeWorkspace(files);
      let asked = 0;
      const moving = {
        ...workspace,
        resolve: async (path: string) => {
          asked += 1;
          const place = await workspace.resolve(path);
          return asked <= 2 || place.kind === "outside" ? place : { ...place, resolved: ".github/workflows/x.yml" };
        },
      };
      const run = await gateway.newRun(moving);

      const outcome = await call(gateway, run, "create_file", { path: "src/new.ts", content: "x" });

      expect(outcome.state).toBe("succeeded");
      expect([...workspace.files.keys()]).toEqual([...Object.keys(files), "src/new.ts"]);
    });
  });

  it("writes down who, what and where of a proposal, and the parent of all that follows (AUD-10)", async () => {
    const run = await gateway.newRun(createFakeWorkspace(files));

    const outcome = await call(gateway, run, "read_file", { path: "src/a.ts" });
    const entries = await readActionEntries(gateway.store, outcome.actionId);

    const [proposal, ...later] = entries;
    expect(proposal?.evidence).toMatchObject({
      tool: "read_file",
      principal: "run",
      requester: run.requesterReference,
      turn: 1,
      modelResponseId: "response_1",
      rawSizeBytes: 19,
      rawDigest: expect.stringMatching(/^raw:hmac-sha256:[0-9a-f]{64}$/),
    });
    expect(proposal?.parentId).toBeNull();
    expect(later.map(({ parentId }) => parentId)).toEqual(later.map(() => proposal?.id));
    expect(new Set(entries.map(({ traceId }) => traceId))).toEqual(new Set([run.traceId]));
    expect(entries.map(({ try: number }) => number)).toEqual([null, null, null, null, 1, 1]);
  });

  it("keeps what is known of an edit before it is made sealed in the intent (ACI-45)", async () => {
    const run = await gateway.newRun(createFakeWorkspace(files));
    await call(gateway, run, "read_file", { path: "src/a.ts" });

    const outcome = await call(gateway, run, "edit_file", edit);
    const again = await gateway.readAgain(outcome.actionId);

    const intent = again.action.states.find(({ state }) => state === "intent_recorded")?.evidence ?? {};
    const { operationKey } = intent;
    expect(intent).toMatchObject({
      preconditions: [
        { name: "fingerprint_current", holds: true },
        { name: "anchors_unique", holds: true },
      ],
      effectKind: "write",
      reconcileRecipe: "drop_workspace",
      pathsNotNfcCount: 0,
    });
    expect(operationKey).toMatch(new RegExp(`^${run.runId}:1:\\d+:edit_file$`));
    expect(JSON.parse(again.texts.intent ?? "")).toMatchObject({
      paths: ["src/a.ts"],
      pre_hash: expect.any(String),
    });
  });

  it("gives a record that the tool's own schema takes, whatever the outcome (ACI-4)", async () => {
    const run = await gateway.newRun(createFakeWorkspace(files));
    const calls = [
      ["read_file", { path: "src/a.ts" }],
      ["read_file", { path: "src/none.ts" }],
      ["read_file", { path: 7 }],
      ["edit_file", { path: "src/b.ts", edits: [{ anchor: "b", replacement: "c" }] }],
      ["create_file", { path: ".git/config", content: "" }],
    ] as const;

    for (const [tool, args] of calls) {
      const { record, actionId } = await call(gateway, run, tool, args);

      expect(() => gateway.deps.catalogue.get(tool)?.Record.parse(record)).not.toThrow();
      expect(record).toMatchObject({ tool, action_id: actionId, started_at: "2026-01-01T00:00:00.000Z" });
    }
  });

  it("tells a recorded change, in order, and only those (AUD-21)", async () => {
    const run = await gateway.newRun(createFakeWorkspace(files));

    const first = await call(gateway, run, "create_file", { path: "src/c.ts", content: "c" });
    await call(gateway, run, "create_file", { path: "src/c.ts", content: "c" }); // exists
    await call(gateway, run, "read_file", { path: "src/c.ts" });
    const second = await call(gateway, run, "delete_file", { path: "src/c.ts" });

    expect(run.recorded.map(({ actionId }) => actionId)).toEqual([first.actionId, second.actionId]);
  });

  it("keeps one dense history of reads that are made side by side", async () => {
    const run = await gateway.newRun(createFakeWorkspace(files));
    const other = await gateway.newRun(createFakeWorkspace(files));

    const outcomes = await Promise.all(
      [run, other, run, other, run, run].map((one) => call(gateway, one, "read_file", { path: "src/a.ts" })),
    );
    const again = await Promise.all(outcomes.map(({ actionId }) => gateway.readAgain(actionId)));

    expect(again.map(({ states }) => states)).toEqual(outcomes.map(() => executed));
    expect(again.map(({ transactionCount }) => transactionCount)).toEqual(outcomes.map(() => 3));
    expect(again.at(-1)?.verification.findings).toEqual([]);
  });

  it("lets a run whose time is over do nothing more", async () => {
    const workspace = createFakeWorkspace(files);
    const run = await gateway.newRun(workspace, { budgetLeft: () => ({ steps: 1, tokens: 1, seconds: 0 }) });

    const outcome = await call(gateway, run, "run_command", { command: "ls" });

    expect(outcome).toMatchObject({ state: "invalid", refusal: { code: "budget_exceeded" } });
    expect(workspace.requests).toEqual([]);
  });

  it("denies everything to a run that has ended, and a principal of another run", async () => {
    const ended = await gateway.newRun(createFakeWorkspace(files), { runState: () => "completed" });
    const other = await gateway.newRun(createFakeWorkspace(files));
    const run = await gateway.newRun(createFakeWorkspace(files));
    const foreign = aCall(run, "read_file", { path: "src/a.ts" }, { principal: { kind: "run", runId: other.runId } });

    const afterEnd = await call(gateway, ended, "read_file", { path: "src/a.ts" });
    const ofOther = await perform(gateway.deps, run, foreign, never);

    expect(afterEnd.decision?.policyIds).toContain("run-is-over");
    expect(ofOther).toMatchObject({ state: "denied", decision: { policyIds: ["floor:foreign_run"] } });
  });

  it("keeps the errors of a decision sealed, and denies (AUD-26)", async () => {
    const workspace = createFakeWorkspace(files);
    const run = await gateway.newRun(workspace);
    const deps: TestGateway["deps"] = {
      ...gateway.deps,
      authorize: (requests, policies) => ({
        ...gateway.policies.authorize(requests, policies),
        effect: "deny",
        policyIds: ["policy_error"],
        errors: ["no attribute planted-word"],
      }),
    };

    const outcome = await perform(deps, run, aCall(run, "create_file", { path: "src/c.ts", content: "" }), never);
    const again = await gateway.readAgain(outcome.actionId);

    expect(outcome).toMatchObject({ state: "denied" });
    expect(workspace.files.has("src/c.ts")).toBe(false);
    expect(again.action.decisions[0]?.evidence).toMatchObject({ effect: "deny", errorCount: 1 });
    expect(JSON.stringify(again.action)).not.toContain("planted-word");
    expect(again.texts).toMatchObject({ errors: '["no attribute planted-word"]' });
    expect(again.verification.findings).toEqual([]);
  });

  it("an operational failure of the hands before the effect is on record as cancelled, and goes on (AUD-1)", async () => {
    const broken = {
      ...createFakeWorkspace(files),
      resolve: () => Promise.reject(new CountersignError("WORKSPACE_POISONED", "a process may still live")),
    };
    const run = await gateway.newRun(broken);
    const proposed = aCall(run, "read_file", { path: "src/a.ts" });

    await expect(perform(gateway.deps, run, proposed, never)).rejects.toMatchObject({ code: "WORKSPACE_POISONED" });
    const again = await gateway.readAgain(proposed.actionId);

    expect(again.states).toEqual(["proposed", "cancelled"]);
    expect(again.action.event.outcome).toBe("cancelled:crash");
    expect(again.action.states.at(-1)?.evidence).toMatchObject({ errorCode: "WORKSPACE_POISONED" });
    expect(again.verification.findings).toEqual([]);
  });
});
