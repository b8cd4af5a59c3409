import { z } from "zod";
import type { ActionDescription } from "../action-description.ts";
import { recordSchema } from "../result-record.ts";
import { presentTests, runTests, type TestFacts, type TestPlan, testFields } from "../test-run.ts";

const name = "run_verification";

const Arguments = z.strictObject({
  /** Which tree: the base as it was, or the base with the change set. */
  stage: z.enum(["before", "after"]),
  command: z.string().min(1),
  timeout_s: z.number().int().min(1).max(86_400),
});
type Arguments = z.infer<typeof Arguments>;

/** The host's own check: the verify command in a fresh checkout that no model's command has touched (ACI-75, SEC-92). */
export const runVerificationAction: ActionDescription<Arguments, TestPlan, TestFacts> = {
  name,
  description: null,
  reason: "The verdict must come from the project's own tests, run by the host, not from what the model says.",
  group: "execute",
  risk: "RESTRICTED",
  capabilities: [
    { grants: ["run_known_command"] },
    // In a checkout that is dropped: what it writes there is of no use.
    { needs: ["write_code"], grants: ["run_anything"] },
  ],
  place: "sandbox",
  semanticFields: ["stage", "command"],
  Arguments,
  Record: recordSchema({
    ...testFields,
    missing_program: z.string().nullable(),
    looked_in: z.array(z.string()),
  }),
  effects: () => [{ kind: "execute" }],
  prepare: (_context, args) =>
    Promise.resolve({
      kind: "ready",
      plan: { script: args.command, timeoutMs: args.timeout_s * 1000 },
      preconditions: [],
      intent: { stage: args.stage },
    }),
  execute: runTests,
  present: (context, args, executed) => {
    const presented = presentTests(context, { tool: name, arguments: args }, executed);
    const { missing } = executed.facts.finished;
    const lookedIn = missing === null ? [] : context.workspace.searchPath;
    return { ...presented, record: { ...presented.record, missing_program: missing, looked_in: lookedIn } };
  },
};
