import { z } from "zod";
import type { JsonObject } from "../../domain/index.ts";
import type { ActionContext, ActionDescription, Executed, Prepared, Presented } from "../action-description.ts";
import {
  commandEvidence,
  commandRecord,
  endOf,
  type FinishedCommand,
  finishCommand,
  missingProgram,
} from "../command-output.ts";
import { presentRefusal, refusalText } from "../refusal-text.ts";
import { budgetExceeded, timedOut } from "../refusals.ts";
import { recordSchema } from "../result-record.ts";
import { fitBody, resultText } from "../result-text.ts";
import { changesLine, rememberChanges, type TreeChanges, treeChanges } from "../tree-changes.ts";
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

/** Record fields of everything that runs a command (ACI-53). */
export const commandFields = {
  exit_code: z.number().int().nullable(),
  signal: z.string().nullable(),
  timed_out: z.boolean(),
  cancelled: z.boolean(),
  stdout_bytes: z.number().int(),
  stderr_bytes: z.number().int(),
  dropped_bytes: z.number().int(),
  /** Names of processes that outlived the shell. */
  killed: z.array(z.string()),
  page: z.string().nullable(),
  tree_before: z.string(),
  tree_after: z.string(),
  changed_count: z.number().int(),
};

/** Runs a bash script in the sandbox (ACI-52 to ACI-59). */
export const runCommandAction: ActionDescription<Arguments, Plan, Facts> = {
  name,
  description: `Runs a bash script in a sandbox, in the repository's root each time; variables and cd don't carry over. No network, no input, no terminal. timeout_s: default ${defaultTimeoutS}, at most ${maxTimeoutS}. Processes still alive when the script ends are killed: start, use and stop a server in one command. Long output is shortened, errors first; the rest is kept. Files it changes count as your changes. To run the project's tests prefer run_tests; to read, search and edit prefer the file tools.`,
  reason: "Building, generating and trying out need the project's own programs; confinement makes that safe.",
  group: "execute",
  risk: "RESTRICTED",
  place: "sandbox",
  semanticFields: ["command"],
  Arguments,
  Record: recordSchema(commandFields),
  effects: () => [{ kind: "execute" }],
  prepare,
  execute,
  present,
};

// biome-ignore lint/suspicious/useAwait: the contract is a promise; here nothing has to be read
async function prepare(context: ActionContext, args: Arguments): Promise<Prepared<Plan>> {
  const askedMs = (args.timeout_s ?? defaultTimeoutS) * 1000;
  const timeoutMs = Math.min(askedMs, context.leftMs);
  if (timeoutMs < 1000) {
    const amounts = { limit: Math.max(0, Math.floor(context.leftMs / 1000)), used: 0, asked: askedMs / 1000 };
    return { kind: "refused", refusal: budgetExceeded("seconds of the run's time", amounts, null) };
  }
  return {
    kind: "ready",
    plan: { script: args.command, timeoutMs },
    preconditions: [],
    intent: { timeout_ms: timeoutMs },
  };
}

async function execute(context: ActionContext, plan: Plan, signal: AbortSignal): Promise<Executed<Facts>> {
  const before = await context.workspace.fingerprint();
  const program = { kind: "shell", script: plan.script } as const;
  const result = await context.workspace.exec({ program, timeoutMs: plan.timeoutMs }, signal);
  const changes = treeChanges(await context.workspace.takeChanges(), before);
  const { finished } = await finishCommand(context.pages, plan.script, result);
  return {
    facts: { finished, changes, timeoutMs: plan.timeoutMs },
    changeSet: changes.changeSet,
    evidence: { ...commandEvidence(finished), ...changeEvidence(changes) },
  };
}

/** Counts and fingerprints of the tree, safe for the ledger. */
export const changeEvidence = (changes: TreeChanges): JsonObject => ({
  tree_before: changes.fingerprintBefore,
  tree_after: changes.fingerprintAfter,
  changed_count: changes.changeSet?.changes.length ?? 0,
  refused_count: changes.causes.length,
});

function present(context: ActionContext, args: Arguments, { facts }: Executed<Facts>): Presented {
  const { finished, changes, timeoutMs } = facts;
  rememberChanges(context, changes, name, true);
  const own = { ...commandRecord(finished), ...treeRecord(changes) };
  const essentials = [endOf(finished, timeoutMs), `${finished.durationMs} ms`, ...sideFacts(finished, changes)].join(
    "; ",
  );
  const { body } = finished.shaped;
  if (finished.timedOut) return presentTimeout(args, facts, essentials, own);
  if (finished.exitCode === 0 && changes.causes.length === 0) {
    if (body.length > 0) return { status: "ok", text: resultText("ok", essentials, body), record: own, refusal: null };
    return { status: "empty", text: resultText("empty", `no output; ${essentials}`, []), record: own, refusal: null };
  }
  return { status: "failed", text: resultText("failed", essentials, body), record: own, refusal: null };
}

export const treeRecord = (changes: TreeChanges): JsonObject => ({
  tree_before: changes.fingerprintBefore,
  tree_after: changes.fingerprintAfter,
  changed_count: changes.changeSet?.changes.length ?? 0,
});

/** What else belongs into the header of a command's result. */
export function sideFacts(finished: FinishedCommand, changes: TreeChanges): readonly string[] {
  const missing = missingProgram(finished);
  const changed = changesLine(changes);
  return [
    ...(missing === null
      ? []
      : [`program \`${missing}\` is missing in the sandbox (see \`countersign doctor --sandbox\`)`]),
    ...(finished.killed.length === 0
      ? []
      : [`left running and killed: ${finished.killed.join(", ")}; a server must be stopped in the same command`]),
    ...(changed === null ? [] : [changed]),
  ];
}

function presentTimeout(args: Arguments, facts: Facts, essentials: string, own: JsonObject): Presented {
  const limitS = Math.round(facts.timeoutMs / 1000);
  const time = { limitS, usedMs: facts.finished.durationMs, maximumS: maxTimeoutS };
  const refusal = timedOut({ tool: name, arguments: args }, time, facts.finished.killed);
  const presented = presentRefusal(refusal, "failed", own);
  const remedy = fitBody(refusalText(refusal), { lines: 10, bytes: 4_000 }).body;
  const body = [...remedy, ...facts.finished.shaped.body];
  return { ...presented, text: resultText("failed", `timed_out: ${refusal.received}; ${essentials}`, body) };
}
