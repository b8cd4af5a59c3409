import { describe, expect, it } from "vitest";
import { createCatalogue } from "../../src/gateway/catalogue.ts";
import { createFingerprints } from "../../src/gateway/fingerprints.ts";
import type { AskedHost, Workspace } from "../../src/workspace/index.ts";
import { anExecResult, createFakeWorkspace } from "../support/fake-workspace.ts";
import { createActor, settings } from "./act.ts";

const asked: readonly AskedHost[] = [
  { host: "registry.example", outcome: "led_on", count: 4 },
  { host: "evil.example", outcome: "not_listed", count: 2 },
  { host: null, outcome: "malformed", count: 1 },
];

/** A workspace whose setup ends like this and leaves a file behind. */
function settingUp(exitCode: number): Workspace {
  const fake = createFakeWorkspace({ "package.json": "{}" }, (_request, files) => {
    files.set("dist.js", Buffer.from("made"));
    return anExecResult("added 1 package\n", { exitCode });
  });
  const setUp: Workspace["setUp"] = async (request, signal) => ({
    ...(await fake.setUp(request, signal)),
    hosts: ["registry.example"],
    asked,
  });
  return { ...fake, setUp };
}

const args = { command: "npm ci", timeout_s: 60, network: "registries", changed_dependencies: false } as const;

describe("run_setup", () => {
  it("records every host that was asked for, and what became of it (SEC-67)", async () => {
    await using actor = await createActor(settingUp(0));

    const done = await actor.call("run_setup", args);

    expect(done).toMatchObject({
      status: "ok",
      record: {
        hosts: ["registry.example"],
        asked: asked.map(({ host, outcome }) => ({ host, outcome })),
        exit_code: 0,
        changed_count: 1,
      },
    });
    expect(done.text).toMatch(
      /^ok: `npm ci` ended with exit code 0; 5 ms; network: registry\.example\nadded 1 package$/,
    );
  });

  it("leaves counts and codes of ours to the ledger in clear, and no name that a repository chose", async () => {
    const workspace = settingUp(1);
    await using actor = await createActor(workspace);
    const action = createCatalogue().get("run_setup");
    const context = {
      workspace,
      fingerprints: createFingerprints(),
      pages: actor.pages,
      paths: [],
      settings,
      turn: 0,
      actionId: "action-0",
      leftMs: 60_000,
    };

    const executed = await action?.execute(context, args, AbortSignal.timeout(60_000));

    expect(executed).toMatchObject({
      changeSet: null,
      evidence: {
        exit_code: 1,
        allowed_hosts_count: 1,
        connections_count: 4,
        refused_count: 3,
        refused_causes: ["malformed", "not_listed"],
      },
    });
    expect(JSON.stringify({ ...executed, facts: null })).not.toContain("example");
  });

  it("fails where it leaves a tree that no run can go on from, although its command ended well (SEC-88)", async () => {
    const workspace: Workspace = {
      ...settingUp(0),
      markSetUp: () => Promise.resolve({ kind: "refused", causes: ["`pipe` is a FIFO"] }),
    };
    await using actor = await createActor(workspace);

    const failed = await actor.call("run_setup", args);

    expect(failed).toMatchObject({ status: "failed", record: { exit_code: 0, refused: ["`pipe` is a FIFO"] } });
  });

  it("says that it failed where its command did", async () => {
    await using actor = await createActor(settingUp(1));

    expect(await actor.call("run_setup", args)).toMatchObject({ status: "failed", record: { exit_code: 1 } });
  });
});
