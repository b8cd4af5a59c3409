import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { processOwner } from "../../src/store/index.ts";
import { type Countersign, openCountersign } from "../support/countersign.ts";
import { call, finish, startPlannedModel } from "../support/planned-model.ts";
import { runInProcess, settleInProcess } from "../support/run-in-process.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let countersign: Countersign;
/** A run that has ended, and its patch. */
let runId: string;
let patch: string;

beforeAll(async () => {
  countersign = await openCountersign("shared");
  const repository = await writeTinyRepository(join(countersign.folder, "tiny"));
  await using model = await startPlannedModel([
    call("create_file", { path: "note.txt", content: "first\n" }),
    call("create_file", { path: "gone.txt", content: "x\n" }),
    call("edit_file", { path: "note.txt", edits: [{ anchor: "first", replacement: "kept" }] }),
    call("delete_file", { path: "gone.txt" }),
    finish,
  ]);
  ({ runId, patch } = await runInProcess(countersign, { repository, baseUrl: model.baseUrl, silenceMs: 30_000 }));
  expect(patch).toContain("+kept");
});

afterAll(() => countersign[Symbol.asyncDispose]());

/** Makes the run look as if its worker had gone before the end. */
async function interrupt(owner: string, expiresAt: string): Promise<void> {
  const change = `update runs set status = 'in_progress', conclusion = null, completed_at = null,
    lease_owner = $2, lease_expires_at = $3 where run_id = $1`;
  await countersign.store?.sql(change, [runId, owner, expiresAt]);
}

const past = new Date(0).toISOString();
const future = new Date(Date.now() + 3_600_000).toISOString();
const boot = processOwner().split(":")[0];

const row = async () =>
  (await countersign.store?.sql<Record<string, unknown>>("select * from runs where run_id = $1", [runId]))?.[0];

it("leaves a run alone whose worker lives and holds its lease", async () => {
  await interrupt(processOwner(), future);

  expect(await settleInProcess(countersign)).toEqual([]);
  expect(await row()).toMatchObject({ status: "in_progress", attempt: 0 });
});

it("leaves a run alone whose worker is on another machine and holds its lease", async () => {
  await interrupt("another-boot:1:1", future);

  expect(await settleInProcess(countersign)).toEqual([]);
});

it.each([
  ["whose worker is dead although its lease still runs", () => `${boot}:4194304:1`, future],
  ["whose lease has run out on another machine", () => "another-boot:1:1", past],
])("settles a run %s, once, with a patch of what was recorded", async (_, owner, expiresAt) => {
  await interrupt(owner(), expiresAt);

  const lines = await settleInProcess(countersign);

  expect(lines).toEqual([
    `run ${runId} had been interrupted and is settled (0 open actions); its patch: countersign runs patch ${runId}`,
  ]);
  expect(await row()).toMatchObject({ status: "completed", conclusion: "failure", lease_owner: null });
  expect((await countersign.inProcess(["runs", "patch", runId])).stdout).toBe(patch);
  expect(await settleInProcess(countersign)).toEqual([]);
});

it("settles a run whose mirror is gone too, and says what that means for its patch", async () => {
  rmSync(join(countersign.home, "mirrors"), { recursive: true });
  await interrupt("another-boot:1:1", past);

  expect(await settleInProcess(countersign)).toEqual([
    `run ${runId} had been interrupted and is settled (0 open actions); its patch can't be made: the mirror of its repository is gone`,
  ]);
});
