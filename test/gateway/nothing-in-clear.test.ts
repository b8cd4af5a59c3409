import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ActionOutcome, JsonObject } from "../../src/domain/index.ts";
import { answerApproval } from "../../src/gateway/index.ts";
import { anExecResult, createFakeWorkspace } from "../support/fake-workspace.ts";
import {
  aPerson,
  approvalOf,
  call,
  hostCall,
  never,
  openTestGateway,
  passed,
  type TestGateway,
} from "../support/gateway.ts";
import { aChange, createGithubWorld, seedFor } from "../support/github-world.ts";
import { pushArguments, runBranch, sampleArguments } from "../support/sample-arguments.ts";

/** Stands in every argument, path, content, output and reason below; nothing of it may stand outside what is sealed. */
const word = "planted";
const content = `${word} content`;
const tables = [
  "ledger_entries",
  "actions",
  "decisions",
  "authorizations",
  "intents",
  "starts",
  "approvals",
  "approval_uses",
  "run_heads",
];

describe("what is not sealed", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await openTestGateway();
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  it("holds no word of arguments, results, paths or reasons, and no bare hash of an argument (AUD-16, AUD-79)", async () => {
    const workspace = createFakeWorkspace({ "planted.txt": content, "planted/a.ts": "planted text" }, () =>
      anExecResult(`${word} output\n`, { exitCode: 1 }),
    );
    const requester = { id: "1001", login: "planted-login", permission: "write" } as const;
    const run = await gateway.newRun(workspace, { requester });
    const calls: readonly (readonly [string, unknown])[] = [
      ["read_file", { path: "planted.txt" }],
      ["read_file", { path: "planted-none.txt" }],
      ["read_file", { path: "../planted" }],
      ["read_file", { planted: "planted" }],
      ["read_file", '{"path": "planted'],
      ["planted_tool", { path: "planted" }],
      ["create_file", { path: "planted/new.txt", content }],
      ["create_file", { path: ".git/planted", content }],
      ["edit_file", { path: "planted.txt", edits: [{ anchor: "planted anchor", replacement: "planted" }] }],
      ["delete_file", { path: "planted.txt" }],
      ["run_command", { command: "echo planted" }],
      ["run_tests", { filter: "planted" }],
      ["run_tests", {}],
      ["finish", { summary: "planted summary", title: "planted title" }],
    ];

    const outcomes: ActionOutcome[] = [];
    for (const [tool, args] of calls) outcomes.push(await call(gateway, run, tool, args));
    const asked = [
      await call(gateway, run, "create_file", { path: "planted/package.json", content }),
      await call(gateway, run, "create_file", { path: "planted/go.mod", content }),
    ] as const;
    const answer = { actor: aPerson, reason: "planted reason" };
    await answerApproval(gateway.deps, run, approvalOf(asked[0]), { kind: "granted", ...answer }, never);
    await answerApproval(gateway.deps, run, approvalOf(asked[1]), { kind: "refused", ...answer }, never);

    const hostCalls = await writeToGithub();

    const dumps = await Promise.all(
      tables.map((table) =>
        gateway.store.sql<{ row: string }>(
          table === "ledger_entries"
            ? "select row_to_json(e)::text || convert_from(body, 'UTF8') as row from ledger_entries e"
            : `select row_to_json(e)::text as row from ${table} e`,
        ),
      ),
    );
    const clear = dumps.flatMap((rows) => rows.map(({ row }) => row)).join("\n");
    const { verification } = await gateway.readAgain(asked[1].actionId);

    expect(new Set(outcomes.map(({ state }) => state))).toEqual(new Set(["succeeded", "invalid", "denied"]));
    expect(clear).toContain(run.requesterReference);
    const bareHash = createHash("sha256").update(content).digest("hex");
    expect(clear.match(new RegExp(`.{0,60}(${word}|${bareHash}).{0,60}`, "gi"))).toBeNull();
    expect(hostCalls).toEqual(
      new Set(["succeeded", "reconciled_applied", "failed_definite", "reconcile_inconclusive"]),
    );
    expect(verification.findings).toEqual([]);
  });

  /** Words in titles, bodies, labels, foreign branches and paths; each answered, lost and found, refused, and never found. */
  async function writeToGithub(): Promise<ReadonlySet<string>> {
    const changeSet = { changes: [aChange("planted/a.ts", content)] };
    const planted = { title: "planted title", body: "planted body" };
    const calls: readonly (readonly [string, JsonObject])[] = [
      ["push_commit", { ...pushArguments(changeSet), message: "planted message" }],
      ["open_pull_request", { branch: runBranch, base: "planted-base", draft: false, ...planted }],
      ["update_pull_request", { pull_request: 100, revision: 1, ...planted }],
      ["create_comment", { issue: 7, body: "planted body" }],
      ["add_label", { issue: 7, label: "planted-label" }],
      ["set_check_run", { ...sampleArguments("set_check_run")[0], title: "planted", summary: "planted" }],
    ];
    const states = new Set<string>();
    for (const [tool, args] of calls) {
      for (const fault of ["none", "lost_after", "refused", "never_found"] as const) {
        const isBlind = fault === "never_found";
        const world = createGithubWorld([isBlind ? "lost_after" : fault], isBlind ? ["blind", "blind", "blind"] : []);
        const run = await gateway.newRun(null, {
          github: seedFor(world, tool).writer,
          publishing: { changeSet: passed(changeSet) },
        });
        states.add((await hostCall(gateway, run, tool, args)).state);
      }
    }
    return states;
  }
});
