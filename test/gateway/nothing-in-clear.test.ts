import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ActionOutcome } from "../../src/domain/index.ts";
import { answerApproval } from "../../src/gateway/index.ts";
import { anExecResult, createFakeWorkspace } from "../support/fake-workspace.ts";
import { aPerson, approvalOf, call, never, openTestGateway, type TestGateway } from "../support/gateway.ts";

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
    expect(verification.findings).toEqual([]);
  });
});
