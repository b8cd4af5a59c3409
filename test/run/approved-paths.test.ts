import { expect, it } from "vitest";
import { deciderOf } from "../../src/run/decide-paths.ts";
import type { Session } from "../../src/run/session.ts";

const after = { mode: "100644", blobSha: "1".repeat(40), content: new Uint8Array([1]) } as const;

/** A run in which one action, with a person's yes, wrote these paths. */
function decider(tool: string, paths: readonly string[]) {
  const changes = paths.map((path) => ({ path, before: null, after }));
  return deciderOf({
    approvedEarlier: new Set(),
    recorded: [{ actionId: "action-1", changeSet: { changes } }],
    outcomes: [{ actionId: "action-1", decision: { requests: [{ tool, approved: true }] } }],
    context: {},
  } as unknown as Session);
}

/** AUD-21, AUD-35: exactly the action that was shown. */
it("a yes to a file action is one for its file; a yes to a command is none for the files that the command writes", () => {
  expect(decider("create_file", ["package.json"]).isApproved("package.json")).toBe(true);
  expect(decider("create_file", ["package.json"]).isApproved("CODEOWNERS")).toBe(false);
  expect(decider("run_command", ["package.json", "CODEOWNERS"]).isApproved("package.json")).toBe(false);
  expect(decider("run_setup", ["package.json"]).isApproved("package.json")).toBe(false);
});
