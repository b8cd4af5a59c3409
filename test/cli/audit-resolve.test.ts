import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openKeys } from "../../src/ledger/index.ts";
import { commandLine } from "../support/cli.ts";
import { hostCall, openTestGateway, type TestGateway } from "../support/gateway.ts";
import { createGithubWorld } from "../support/github-world.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await openTestGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

const audit = (...argv: readonly string[]) => command("audit", ...argv);
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

/** A comment whose answer was lost, and that three looks could tell nothing of. */
async function anUnknownComment() {
  const { writer } = createGithubWorld(["lost_after"], ["blind", "blind", "blind"]);
  const run = await gateway.newRun(null, { github: writer });
  const outcome = await hostCall(gateway, run, "create_comment", { issue: 7, body: "done" });
  expect(outcome.state).toBe("reconcile_inconclusive");
  return { run, ...outcome };
}

describe("an action that nothing could tell of, resolved by a person (AUD-5, AUD-6, AUD-65)", () => {
  it.each([
    { flag: "--done", applied: true, outcome: "ok" },
    { flag: "--not-done", applied: false, outcome: "error:not_applied" },
  ])("is on record with who said so and why, and the log verifies: $flag", async ({ flag, applied, outcome }) => {
    const { actionId } = await anUnknownComment();

    const ended = await audit("resolve", actionId, flag, "--why", "I looked at the issue");
    const { action, texts, verification } = await gateway.readAgain(actionId);

    expect(ended).toMatchObject({ exitCode: 0, err: "" });
    expect(action).toMatchObject({ state: "resolved_by_person", event: { outcome } });
    const word = action.states.at(-1);
    expect(word).toMatchObject({
      actor: expect.stringMatching(/^person:[0-9a-f]{32}$/),
      try: 1,
      evidence: { applied },
    });
    expect(JSON.stringify(word)).not.toContain("I looked"); // sealed
    expect(texts.reason).toBe("I looked at the issue");
    expect(verification.findings).toEqual([]);
  });

  it("is resolved once, and only where it was looked for in vain", async () => {
    const { actionId, run } = await anUnknownComment();
    const done = await hostCall(gateway, run, "create_comment", { issue: 7, body: "again" });
    await audit("resolve", actionId, "--done", "--why", "seen");

    expect(await audit("resolve", actionId, "--not-done", "--why", "seen")).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining("is resolved_by_person: only one that was looked for in vain"),
    });
    expect(await audit("resolve", done.actionId, "--done", "--why", "seen")).toMatchObject({ exitCode: 2 });
  });

  it("is left to its worker while its run has not ended", async () => {
    const { actionId, run } = await anUnknownComment();
    await gateway.store.sql(
      `insert into runs (run_id, trace_id, repository_id, repository_name, requester_id, requester_login,
         requester_permission, issue_number, base_sha, status, fencing_token, started_at, limits)
       values ($1, $2, 1, 'octo/shop', '1001', 'ada', 'write', 7, '', 'in_progress', 1, now(), '{}')`,
      [run.runId, run.traceId],
    );

    expect(await audit("resolve", actionId, "--done", "--why", "seen")).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining(`countersign runs cancel ${run.runId}`),
    });
    expect((await gateway.readAgain(actionId)).action.state).toBe("reconcile_inconclusive");
  });

  it.each([
    { argv: ["nothing", "--done", "--why", "x"], exitCode: 1, says: "countersign audit find" },
    {
      argv: ["01900000-0000-7000-8000-00000000aaaa", "--done", "--why", "x"],
      exitCode: 1,
      says: "countersign audit find",
    },
    { argv: ["01900000-0000-7000-8000-00000000aaaa", "--why", "x"], exitCode: 2, says: "one of --done and --not-done" },
    { argv: ["01900000-0000-7000-8000-00000000aaaa", "--done"], exitCode: 2, says: "--why" },
    { argv: ["01900000-0000-7000-8000-00000000aaaa", "--done", "--why", " "], exitCode: 2, says: "--why" },
  ])("says what is wrong with $argv, and how to list what there is", async ({ argv, exitCode, says }) => {
    expect(await audit("resolve", ...argv)).toMatchObject({ exitCode, err: expect.stringContaining(says) });
  });
});

describe("an id that is not there", () => {
  const nobodys = "01900000-0000-7000-8000-00000000aaaa";
  it.each(
    ["nothing", nobodys].flatMap((id) => [
      ["audit", "show", id],
      ["audit", "hash", "--run", id, new URL("../../package.json", import.meta.url).pathname],
      ["policy", "explain", id],
      ["runs", "show", id],
      ["runs", "patch", id],
      ["runs", "cancel", id],
    ]),
  )("is named by `%s %s`, with the command that lists what there is", async (...argv) => {
    const ended = await command(...argv);

    expect(ended).toMatchObject({ exitCode: 1, out: "" });
    expect(ended.err).toMatch(/`(nothing|01900000-0000-7000-8000-00000000aaaa)`/);
    expect(ended.err).toMatch(/list .*`countersign (runs list|audit find)`.* \[NOT_FOUND\]\n$/);
  });
});
