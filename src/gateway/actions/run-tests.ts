import { z } from "zod";
import type { Refusal } from "../../domain/index.ts";
import type { ActionContext, ActionDescription, Prepared } from "../action-description.ts";
import { timeoutWithin } from "../command-result.ts";
import { noTestCommand, noTestFilter, shellWord } from "../refusals.ts";
import { recordSchema } from "../result-record.ts";
import { presentTests, runTests, type TestFacts, type TestPlan, testFields } from "../test-run.ts";
import { optional } from "./arguments.ts";

const name = "run_tests";
const maxTimeoutMs = 1_800_000;

const Arguments = z.strictObject({ filter: optional(z.string().min(1).max(1_024)) });
type Arguments = z.infer<typeof Arguments>;

/** Runs the repository's verify command in the sandbox, for the model to see; the verdict is the host's (ACI-29). */
export const runTestsAction: ActionDescription<Arguments, TestPlan, TestFacts> = {
  name,
  description:
    "Runs the project's own test command in the sandbox and tells counts and failing tests first. filter: part of the tests, where the repository's settings say how; otherwise null. Files that tests change are not part of the patch. For any other program use run_command.",
  reason: "The model has to see whether its change works before it ends.",
  group: "execute",
  risk: "RESTRICTED",
  capabilities: [
    { grants: ["run_known_command"] },
    // Tests are code of the checkout: who writes the one decides what the other does.
    { needs: ["write_code"], grants: ["run_anything", "create_files", "delete_files", "write_protected"] },
  ],
  place: "sandbox",
  semanticFields: ["filter"],
  Arguments,
  Record: recordSchema(testFields),
  effects: () => [{ kind: "execute" }],
  prepare,
  execute: runTests,
  present: (context, args, executed) => presentTests(context, { tool: name, arguments: args }, executed),
};

function prepare(context: ActionContext, args: Arguments): Promise<Prepared<TestPlan>> {
  const refused = (refusal: Refusal): Promise<Prepared<TestPlan>> => Promise.resolve({ kind: "refused", refusal });
  const { verifyCommand, verifyFilter, verifyTimeoutMs } = context.settings;
  const { filter } = args;
  if (verifyCommand === null) return refused(noTestCommand());
  if (filter !== null && verifyFilter === null) return refused(noTestFilter(filter, verifyCommand));
  const script = filter === null ? verifyCommand : filtered(verifyFilter ?? verifyCommand, filter);
  const timeoutMs = timeoutWithin(context.leftMs, Math.min(verifyTimeoutMs, maxTimeoutMs));
  if (typeof timeoutMs !== "number") return refused(timeoutMs);
  const plan = { script, timeoutMs };
  return Promise.resolve({ kind: "ready", plan, preconditions: [], intent: { timeout_ms: timeoutMs } });
}

/** The filter is one word to the shell, whatever it holds. */
const filtered = (form: string, filter: string): string => form.replaceAll("{filter}", () => shellWord(filter));
