import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/domain/index.ts";
import { answerApproval } from "../../src/gateway/index.ts";
import type { Halt } from "../../src/store/index.ts";
import { createFakeWorkspace } from "../support/fake-workspace.ts";
import { approvalOf, aYes, call, hostCall, never, openTestGateway, type TestGateway } from "../support/gateway.ts";
import { createGithubWorld, seedFor } from "../support/github-world.ts";
import { sampleArguments } from "../support/sample-arguments.ts";
import { anEntry } from "../support/test-ledger.ts";

const note = { path: "note.txt", content: "hello\n" };
const firstSample = (tool: string): JsonObject => sampleArguments(tool)[0] as JsonObject;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await openTestGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

const setSwitch = (paused: boolean) => gateway.store.db.updateTable("service_state").set({ paused }).execute();
afterEach(() => setSwitch(false));

/** The state and the cause in which the last action of a run ended. */
async function lastState(runId: string): Promise<unknown> {
  const [row] = await gateway.store.sql<{ evidence: object; state: string }>(
    `select convert_from(body, 'UTF8')::json ->> 'state' as state, convert_from(body, 'UTF8')::json -> 'evidence' as evidence
       from ledger_entries where run_id = $1 order by index desc limit 1`,
    [runId],
  );
  return row;
}

describe("under the kill switch (SEC-5)", () => {
  it("no action of the model starts: it is cancelled as paused, and the error ends the run", async () => {
    const workspace = createFakeWorkspace({});
    const run = await gateway.newRun(workspace);
    await setSwitch(true);

    await expect(call(gateway, run, "create_file", note)).rejects.toMatchObject({ code: "PAUSED" });

    expect([...workspace.files.keys()]).toEqual([]);
    expect(await lastState(run.runId)).toMatchObject({ state: "cancelled", evidence: { cause: "paused" } });
  });

  it("what was approved before does not start either", async () => {
    const workspace = createFakeWorkspace({});
    const run = await gateway.newRun(workspace);
    const asked = await call(gateway, run, "create_file", { path: "package.json", content: "{}\n" });
    await setSwitch(true);

    const answered = answerApproval(gateway.deps, run, approvalOf(asked), aYes, never);

    await expect(answered).rejects.toMatchObject({ code: "PAUSED" });
    expect([...workspace.files.keys()]).toEqual([]);
  });

  it.each(["push_commit", "open_pull_request", "set_check_run", "add_label"])(
    "the host's `%s` does not start",
    async (tool) => {
      const world = seedFor(createGithubWorld(), tool);
      const run = await gateway.newRun(null, { github: world.writer });
      await setSwitch(true);

      await expect(hostCall(gateway, run, tool, firstSample(tool))).rejects.toMatchObject({ code: "PAUSED" });

      expect(world.sent).toEqual([]);
    },
  );

  it.each(["create_comment", "update_comment", "add_reaction"])("people are still told, by `%s`", async (tool) => {
    const world = seedFor(createGithubWorld(), tool);
    const run = await gateway.newRun(null, { github: world.writer });
    await setSwitch(true);

    expect(await hostCall(gateway, run, tool, firstSample(tool))).toMatchObject({ status: "ok" });
    expect(world.sent).toHaveLength(1);
  });

  it.each(["create_file", "create_comment"])("where its row is gone nothing starts, not even `%s`", async (tool) => {
    const world = createGithubWorld();
    const workspace = createFakeWorkspace({});
    const run = await gateway.newRun(workspace, { github: world.writer });
    await gateway.store.db.deleteFrom("service_state").execute();

    const proposed =
      tool === "create_file" ? call(gateway, run, tool, note) : hostCall(gateway, run, tool, firstSample(tool));
    const thrown = await proposed.catch((error: unknown) => error);
    await gateway.store.sql("insert into service_state default values");

    expect(thrown).toMatchObject({ code: "KILL_SWITCH_UNREADABLE" });
    expect([world.sent, [...workspace.files.keys()]]).toEqual([[], []]);
  });
});

describe("after a stop was asked for (GH-50)", () => {
  it("no further action of that run starts, whatever its worker has heard of by then", async () => {
    const workspace = createFakeWorkspace({});
    const run = await gateway.newRun(workspace);
    await gateway.log.ledger.append(run.lease, { entries: [anEntry(run.runId)], sealed: [] }, async (tx) => {
      await tx.insertInto("runs").values(stoppedRow(run)).execute();
    });

    await expect(call(gateway, run, "create_file", note)).rejects.toMatchObject({ code: "ABORTED" });

    expect([...workspace.files.keys()]).toEqual([]);
    expect(await lastState(run.runId)).toMatchObject({ state: "cancelled", evidence: { cause: "stop" } });
  });

  it("another run goes on", async () => {
    const workspace = createFakeWorkspace({});

    expect(await call(gateway, await gateway.newRun(workspace), "create_file", note)).toMatchObject({ status: "ok" });
  });
});

it("reads the switch anew before each action", async () => {
  const answers: (Halt | null)[] = [null, "paused"];
  const deps = { ...gateway.deps, readHalt: () => Promise.resolve(answers.shift() ?? null) };
  const workspace = createFakeWorkspace({});
  const run = await gateway.newRun(workspace);

  await call({ ...gateway, deps }, run, "create_file", note);
  const second = call({ ...gateway, deps }, run, "create_file", { ...note, path: "other.txt" });

  await expect(second).rejects.toMatchObject({ code: "PAUSED" });
  expect([...workspace.files.keys()]).toEqual(["note.txt"]);
});

const stoppedRow = ({ runId, traceId }: Awaited<ReturnType<TestGateway["newRun"]>>) => ({
  run_id: runId,
  trace_id: traceId,
  repository_id: "2001",
  repository_name: "ada/engine",
  requester_id: "1001",
  requester_login: "ada",
  requester_permission: "write" as const,
  issue_number: 7,
  base_sha: "",
  status: "in_progress" as const,
  conclusion: null,
  stop_reason: null,
  lease_owner: null,
  lease_expires_at: null,
  started_at: "2026-01-01T00:00:00.000Z",
  completed_at: null,
  limits: "{}",
  stop_requested_at: "2026-01-01T00:00:00.000Z",
  stop_cause: "label_removed" as const,
});
