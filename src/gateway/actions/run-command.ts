import { z } from "zod";
import type { ActionContext, ActionDescription, Executed, Prepared, Presented } from "../action-description.ts";
import {
  cleanResult,
  commandEvidence,
  commandRecord,
  endOf,
  type FinishedCommand,
  finishCommand,
} from "../command-output.ts";
import {
  changeEvidence,
  commandFields,
  presentTimeout,
  sideFacts,
  timeoutWithin,
  treeRecord,
} from "../command-result.ts";
import { timedOut } from "../refusals.ts";
import { recordSchema } from "../result-record.ts";
import { resultText } from "../result-text.ts";
import { rememberChanges, type TreeChanges, treeChanges } from "../tree-changes.ts";
import { optional } from "./arguments.ts";

const name = "run_command";
const defaultTimeoutS = 60;
const maxTimeoutS = 600;

const Arguments = z.strictObject({
  command: z.string().min(1),
  timeout_s: optional(z.number().int().min(1).max(maxTimeoutS)),
});
type Arguments = z.infer<typeof Arguments>;

type Plan = { readonly script: string; readonly timeoutMs: number };
type Facts = { readonly finished: FinishedCommand; readonly changes: TreeChanges; readonly timeoutMs: number };

/** Runs a bash script in the sandbox (ACI-52 to ACI-59). */
export const runCommandAction: ActionDescription<Arguments, Plan, Facts> = {
  name,
  description: `Runs a bash script in a sandbox, in the repository's root each time; variables and cd don't carry over. No network, no input, no terminal. timeout_s: default ${defaultTimeoutS}, at most ${maxTimeoutS}. Processes still alive when the script ends are killed: start, use and stop a server in one command. Long output is shortened, errors first; the rest is kept. Files it changes count as your changes. To run the project's tests prefer run_tests; to read, search and edit prefer the file tools.`,
  reason: "Building, generating and trying out need the project's own programs; confinement makes that safe.",
  group: "execute",
  risk: "RESTRICTED",
  capabilities: [
    { grants: ["run_anything", "read_code", "write_code", "create_files", "delete_files", "write_protected"] },
  ],
  place: "sandbox",
  semanticFields: ["command"],
  Arguments,
  Record: recordSchema(commandFields),
  effects: () => [{ kind: "execute" }],
  prepare,
  execute,
  present,
};

function prepare(context: ActionContext, args: Arguments): Promise<Prepared<Plan>> {
  const timeoutMs = timeoutWithin(context.leftMs, (args.timeout_s ?? defaultTimeoutS) * 1000);
  if (typeof timeoutMs !== "number") return Promise.resolve({ kind: "refused", refusal: timeoutMs });
  const plan = { script: args.command, timeoutMs };
  return Promise.resolve({ kind: "ready", plan, preconditions: [], intent: { timeout_ms: timeoutMs } });
}

async function execute(context: ActionContext, plan: Plan, signal: AbortSignal): Promise<Executed<Facts>> {
  const before = await context.workspace.fingerprint();
  const program = { kind: "shell", script: plan.script } as const;
  const result = await context.workspace.exec({ program, timeoutMs: plan.timeoutMs }, signal);
  const changes = treeChanges(await context.workspace.takeChanges(), before);
  const finished = await finishCommand(context.pages, plan.script, result, cleanResult(result));
  return {
    facts: { finished, changes, timeoutMs: plan.timeoutMs },
    changeSet: changes.changeSet,
    evidence: { ...commandEvidence(finished), ...changeEvidence(changes) },
  };
}

function present(context: ActionContext, args: Arguments, { facts }: Executed<Facts>): Presented {
  const { finished, changes, timeoutMs } = facts;
  rememberChanges(context, changes, name, true);
  const own = { ...commandRecord(finished), ...treeRecord(changes) };
  const { body } = finished.shaped;
  const essentials = [endOf(finished, timeoutMs), `${finished.durationMs} ms`, ...sideFacts(finished, changes)].join(
    "; ",
  );
  if (finished.timedOut) {
    const time = { limitS: Math.round(timeoutMs / 1000), usedMs: finished.durationMs, maximumS: maxTimeoutS };
    const refusal = timedOut({ tool: name, arguments: args }, time, finished.killed);
    return presentTimeout(refusal, { essentials, body, own });
  }
  if (finished.exitCode === 0 && changes.causes.length === 0) {
    if (body.length > 0) return { status: "ok", text: resultText("ok", essentials, body), record: own, refusal: null };
    return { status: "empty", text: resultText("empty", `no output; ${essentials}`, []), record: own, refusal: null };
  }
  return { status: "failed", text: resultText("failed", essentials, body), record: own, refusal: null };
}
