import { z } from "zod";
import type { JsonObject } from "../../domain/index.ts";
import { type SetupResult, searchPathInside } from "../../workspace/index.ts";
import type { ActionContext, ActionDescription, Executed, Presented } from "../action-description.ts";
import {
  cleanResult,
  commandEvidence,
  commandRecord,
  endOf,
  type FinishedCommand,
  finishCommand,
} from "../command-output.ts";
import { changeEvidence, commandFields, presentTimeout, sideFacts, treeRecord } from "../command-result.ts";
import { timedOut } from "../refusals.ts";
import { recordSchema } from "../result-record.ts";
import { clipLine, resultText } from "../result-text.ts";
import type { TreeChanges } from "../tree-changes.ts";

const name = "run_setup";

const Arguments = z.strictObject({
  command: z.string().min(1),
  timeout_s: z.number().int().min(1).max(86_400),
  network: z.enum(["none", "registries"]),
  /** Whether manifests or lock files of the tree are the model's and not the base commit's (SEC-72). */
  changed_dependencies: z.boolean(),
});
type Arguments = z.infer<typeof Arguments>;

type Network = Omit<SetupResult, "result">;
type Facts = {
  readonly finished: FinishedCommand;
  /** How many files it made or changed. */
  readonly madeCount: number;
  readonly tree: TreeChanges;
  readonly network: Network;
};

const askedHost = z.strictObject({ host: z.string().nullable(), outcome: z.string() });

/** The host's own preparation of a fresh tree by the settings' command, with the one way to a network that there is (SEC-65). */
export const runSetupAction: ActionDescription<Arguments, Arguments, Facts> = {
  name,
  description: null,
  reason: "Tests need the project's dependencies, and only a step before the model's first word may have a network.",
  group: "execute",
  risk: "RESTRICTED",
  capabilities: [
    { grants: ["run_known_command"] },
    {
      needs: ["write_protected"],
      grants: ["network(registries)", "run_anything"],
      input: { network: "registries", changed_dependencies: true },
    },
  ],
  place: "sandbox",
  semanticFields: ["command", "network", "changed_dependencies"],
  Arguments,
  Record: recordSchema({
    ...commandFields,
    command: z.string(),
    missing_program: z.string().nullable(),
    looked_in: z.array(z.string()),
    /** What could be reached. */
    hosts: z.array(z.string()),
    /** What was asked for, led on or not (SEC-67). */
    asked: z.array(askedHost),
    unusable: z.array(z.string()),
    /** What it left in the tree that no run can go on from (SEC-88). */
    refused: z.array(z.string()),
  }),
  effects: () => [{ kind: "execute" }],
  prepare: (_context, args) =>
    Promise.resolve({ kind: "ready", plan: args, preconditions: [], intent: { network: args.network } }),
  execute,
  present,
};

/** What setup makes is nobody's change: it is made again in each tree, and never part of a patch (SEC-89). */
async function execute(context: ActionContext, plan: Arguments, signal: AbortSignal): Promise<Executed<Facts>> {
  const before = await context.workspace.fingerprint();
  const program = { kind: "shell", script: plan.command } as const;
  const request = { program, timeoutMs: plan.timeout_s * 1000, network: plan.network };
  const { result, ...network } = await context.workspace.setUp(request, signal);
  const mark = await context.workspace.markSetUp();
  const after = mark.kind === "marked" ? await context.workspace.fingerprint() : "unreadable";
  const causes = mark.kind === "marked" ? [] : mark.causes;
  const tree: TreeChanges = { changeSet: null, causes, fingerprintBefore: before, fingerprintAfter: after };
  const madeCount = mark.kind === "marked" ? mark.made : 0;
  const finished = await finishCommand(context.pages, plan.command, result, cleanResult(result));
  return {
    facts: { finished, madeCount, tree, network },
    changeSet: null,
    evidence: {
      ...commandEvidence(finished),
      ...changeEvidence(tree),
      changed_count: madeCount,
      ...networkEvidence(network),
    },
  };
}

/** Counts and our own codes; the names asked for are sealed with the result. */
function networkEvidence({ hosts, asked }: Network): JsonObject {
  const refused = asked.filter(({ outcome }) => outcome !== "led_on");
  const sum = (counts: readonly { readonly count: number }[]): number =>
    counts.reduce((total, { count }) => total + count, 0);
  return {
    allowed_hosts_count: hosts.length,
    connections_count: sum(asked) - sum(refused),
    refused_count: sum(refused),
    refused_causes: [...new Set(refused.map(({ outcome }) => outcome))].sort(),
  };
}

function present(_context: ActionContext, args: Arguments, { facts }: Executed<Facts>): Presented {
  const { finished, tree, network } = facts;
  const { body } = finished.shaped;
  const own = {
    ...commandRecord(finished),
    ...treeRecord(tree),
    changed_count: facts.madeCount,
    refused: tree.causes,
    command: args.command,
    missing_program: finished.missing,
    looked_in: finished.missing === null ? [] : searchPathInside([]),
    hosts: network.hosts,
    asked: network.asked.map(({ host, outcome }) => ({ host, outcome })),
    unusable: network.unusable,
  };
  const essentials = [
    `\`${clipLine(args.command, 120).text}\` ended with ${endOf(finished, args.timeout_s * 1000)}`,
    `${finished.durationMs} ms`,
    `network: ${network.hosts.length === 0 ? "none" : network.hosts.join(", ")}`,
    ...sideFacts(finished, tree),
  ].join("; ");
  if (finished.timedOut) {
    const time = { limitS: args.timeout_s, usedMs: finished.durationMs, maximumS: args.timeout_s };
    const refusal = timedOut({ tool: name, arguments: args }, time, finished.killed);
    return presentTimeout(refusal, { essentials, body, own });
  }
  const status = finished.exitCode === 0 && tree.causes.length === 0 ? "ok" : "failed";
  return { status, text: resultText(status, essentials, body), record: own, refusal: null };
}
