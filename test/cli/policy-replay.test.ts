import { randomBytes } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ActionOutcome } from "../../src/domain/index.ts";
import { answerApproval, recordPersonsAnswer } from "../../src/gateway/index.ts";
import { openKeys, type RunLease, sealCommitted } from "../../src/ledger/index.ts";
import {
  approvalRequest,
  compileRepositoryPolicies,
  noRepositoryPolicies,
  type RepositoryPolicies,
} from "../../src/policy/index.ts";
import { keepPolicySet } from "../../src/run/index.ts";
import { commandLine } from "../support/cli.ts";
import { createFakeWorkspace } from "../support/fake-workspace.ts";
import { approvalOf, aYes, call, hostCall, never, openTestGateway, type TestGateway } from "../support/gateway.ts";
import { anEntry, startOfTime } from "../support/test-ledger.ts";

const forbid = [
  {
    text: '@id("no-b") @advice("Ask us.") forbid (principal, action == Action::"edit_file", resource) when { context.path.resolved like "*b.ts" };',
    line: 3,
  },
];
const edit = (path: string) => ({ path, edits: [{ anchor: "= 1", replacement: "= 2" }] });

describe("decisions made again from their record (AUD-25, AUD-31)", () => {
  let gateway: TestGateway;
  let repository: RepositoryPolicies;
  let since: string;
  beforeAll(async () => {
    gateway = await openTestGateway();
    repository = compileRepositoryPolicies(gateway.policies, forbid);
  });
  afterAll(() => gateway[Symbol.asyncDispose]());
  beforeEach(async () => {
    gateway.log.now.ms += 24 * 3_600_000; // a day for each test, in one log
    since = new Date(gateway.log.now.ms).toISOString();
    await gateway.store.sql("delete from policy_sets");
    await keepPolicySet({ ...gateway, clock: () => startOfTime });
  });

  const policy = (...argv: readonly string[]) => command("policy", ...argv);
  const command = (...argv: readonly string[]) =>
    commandLine(argv, {
      clock: () => gateway.log.now.ms,
      openRecords: async () => ({
        store: gateway.store,
        ledger: gateway.log.ledger,
        keys: await openKeys({ randomBytes }, gateway.log.keysFolder),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      }),
    });

  /** What the repository forbids, sealed with the run as its start does. */
  async function sealForbid(lease: RunLease): Promise<void> {
    const text = Buffer.from(JSON.stringify(forbid));
    const nonce = { bytes: randomBytes(32), isNew: true };
    const { sealed, commitments } = sealCommitted(null, nonce, { repository_policies: text });
    await gateway.log.ledger.append(lease, { entries: [anEntry(lease.runId, { evidence: { commitments } })], sealed });
  }

  /** A run with an answer of every kind: allowed, denied by floor, set and repository, approved, and the host's own. */
  async function aWholeRun(): Promise<{ readonly denied: ActionOutcome; readonly approved: ActionOutcome }> {
    const files = { "src/a.ts": "export const a = 1;\n", "src/b.ts": "b = 1\n", "package.json": "{}\n" };
    const run = await gateway.newRun(createFakeWorkspace(files), { repositoryPolicies: repository });
    await sealForbid(run.lease);
    for (const path of Object.keys(files)) await call(gateway, run, "read_file", { path });
    await call(gateway, run, "edit_file", edit("src/a.ts"));
    const denied = await call(gateway, run, "edit_file", edit("src/b.ts"));
    await call(gateway, run, "create_file", { path: ".github/workflows/x.yml", content: "" });
    await call(gateway, run, "read_file", { pth: "not even decided" });
    await hostCall(gateway, run, "create_comment", { issue: 7, body: "done" });
    const asked = await call(gateway, run, "create_file", { path: "sub/package.json", content: "{}" });
    const approved = await answerApproval(gateway.deps, run, approvalOf(asked), aYes, never);
    return { denied, approved };
  }

  it("all have the recorded answer", async () => {
    await aWholeRun();
    const ended = await policy("replay", "--since", since);

    expect(ended.out).toBe(
      "9 decisions: 9 reproduced, 0 answered otherwise, 0 erased and not tested, 0 not testable\n",
    );
    expect(ended.exitCode).toBe(0);
  });

  it("are looked for since a time alone", async () => {
    await aWholeRun();

    expect((await policy("replay", "--since", "2030-01-02")).out).toMatch(/^0 decisions/);
    expect(await policy("replay", "--since", "yesterday")).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining("yesterday"),
    });
  });

  it("are explained one by one, with request, policy, advice and both answers", async () => {
    const { denied, approved } = await aWholeRun();

    const [no, yes] = [await policy("explain", denied.actionId), await policy("explain", approved.actionId)];

    expect(no.exitCode).toBe(0);
    expect(no.out).toContain("answer      deny by repository:no-b\n");
    expect(no.out).toContain("asked       run: edit_file on src/b.ts; RESTRICTED; for ada (write)\n");
    expect(no.out).toContain("advice      repository:no-b: the repository says: Ask us.\n");
    expect(no.out).toContain("again       the same answer\n");
    expect(yes.out).toMatch(/require_approval by dangerous, manifest[\s\S]*@id\("dangerous"\)[\s\S]*allow by writes/);
    // AUD-30: the model is shown it as its remedy, and so is whoever asks afterwards.
    expect(denied.text).toContain("the repository says: Ask us.");
    const shown = await command("audit", "show", denied.actionId);
    expect(shown.out).toContain("advice      repository:no-b: the repository says: Ask us.\n");
  });

  it("on whether a person may answer are among them: explained with their action, and replayed (AUD-37)", async () => {
    const run = await gateway.newRun(createFakeWorkspace({ "src/a.ts": "a = 1\n" }), { approvalChannel: "github" });
    const { actionId, ...asked } = await call(gateway, run, "create_file", { path: "package.json", content: "{}" });
    const approvalId = approvalOf(asked);
    const approver = { id: "501", login: "grace", permission: "write" } as const;
    const request = approvalRequest({
      person: approver,
      question: { approvalId, tool: "create_file", risk: "DANGEROUS" },
      run: { ...run, runState: "waiting", budgetLeft: { steps: 0, tokens: 0, seconds: 0 } },
    });
    const decision = gateway.policies.authorize([request], noRepositoryPolicies);
    const answer = { kind: "granted", approver, requestId: null, reason: "", deliveryId: "d", decision } as const;
    const answerDeps = { ...gateway.deps, store: gateway.store, keys: gateway.log.keys };
    await recordPersonsAnswer(answerDeps, { approvalId, actionId, run }, answer, () => Promise.resolve());

    const [one, all] = [await policy("explain", actionId), await policy("replay", "--since", since)];

    expect(one.exitCode).toBe(0);
    expect(one.out).toMatch(
      /require_approval by dangerous, manifest[\s\S]*grace: approve; RESTRICTED; for ada \(write\)/,
    );
    expect(all).toMatchObject({ exitCode: 0, out: expect.stringMatching(/^2 decisions: 2 reproduced, 0 answered/) });
  });

  it("of an action that is not there are none, and the message says how to list them", async () => {
    for (const id of ["nothing", "01900000-0000-7000-8000-00000000aaaa"]) {
      expect(await policy("explain", id)).toMatchObject({
        exitCode: 1,
        err: expect.stringContaining("countersign audit find"),
      });
    }
  });

  it("that another set would change are named, with both answers, and the exit status is 0", async () => {
    await aWholeRun();
    const folder = join(import.meta.dirname, "../../policies/read-only");

    const ended = await policy("replay", "--since", since, "--with", folder, "--json");

    expect(ended.exitCode).toBe(0);
    const { differences, different, reproduced } = JSON.parse(ended.out) as Record<string, never>;
    expect({ different, reproduced }).toEqual({ different: 3, reproduced: 6 });
    expect(differences).toContainEqual(
      expect.objectContaining({
        recorded: { effect: "allow", policy_ids: ["writes"] },
        now: { effect: "deny", policy_ids: ["no-changes"] },
      }),
    );
  });

  it("are told from the recorded answer where the kept set was changed behind them", async () => {
    const { approved } = await aWholeRun();
    const permits = gateway.policies.policyText.get("permits.cedar") ?? "";
    const changed = permits.replace('@id("writes")', '@id("edits")');
    await gateway.store.sql(
      "update policy_sets set content = content || jsonb_build_object('permits.cedar', $1::text)",
      [changed],
    );

    const [all, one] = [await policy("replay", "--since", since), await policy("explain", approved.actionId)];

    expect(all).toMatchObject({
      exitCode: 1,
      out: expect.stringMatching(/^9 decisions: 0 reproduced, 9 answered otherwise/),
    });
    expect(all.out).toContain("allow by writes -> allow by edits (another policyIds, policySetDigest)");
    expect(one).toMatchObject({ exitCode: 1, out: expect.stringContaining("ANOTHER ANSWER: allow by edits") });
  });

  it("are not testable, and no pass, where the set or the repository's policies are not kept", async () => {
    const run = await gateway.newRun(createFakeWorkspace({ "src/a.ts": "a = 1\n" }), {
      repositoryPolicies: repository,
    });
    await call(gateway, run, "read_file", { path: "src/a.ts" });
    expect(await policy("replay", "--since", since)).toMatchObject({
      exitCode: 1,
      out: expect.stringContaining("1 not testable\n"),
    });

    await gateway.store.sql("delete from policy_sets");
    expect((await policy("replay", "--since", since)).out).toContain("no policy set");
  });

  it("whose request was erased are counted apart, and never as a pass", async () => {
    const run = await gateway.newRun(createFakeWorkspace({ "src/a.ts": "a = 1\n" }));
    const { actionId } = await call(gateway, run, "read_file", { path: "src/a.ts" });
    const kept = await gateway.newRun(createFakeWorkspace({ "src/a.ts": "a = 1\n" }));
    await call(gateway, kept, "read_file", { path: "src/a.ts" });
    for (const name of readdirSync(gateway.log.keysFolder, { recursive: true, encoding: "utf8" })) {
      if (name.includes(run.runId)) rmSync(join(gateway.log.keysFolder, name), { recursive: true, force: true });
    }

    const [all, one] = [await policy("replay", "--since", since), await policy("explain", actionId)];

    expect(all).toMatchObject({
      exitCode: 0,
      out: "2 decisions: 1 reproduced, 0 answered otherwise, 1 erased and not tested, 0 not testable\n",
    });
    expect(one).toMatchObject({ exitCode: 1, out: expect.stringContaining("not tested: the request was erased") });
  });
});
