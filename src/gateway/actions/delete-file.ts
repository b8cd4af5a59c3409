import { z } from "zod";
import { protectedWay } from "../../policy/index.ts";
import type { FileWrite } from "../../workspace/index.ts";
import type { ActionContext, ActionDescription, Executed, Prepared, Presented } from "../action-description.ts";
import { checkFresh, fingerprintHolds, openTarget } from "../edit-checks.ts";
import { presentRefusal } from "../refusal-text.ts";
import type { Call } from "../refusals.ts";
import { recordSchema, wholeBody } from "../result-record.ts";
import { resultText } from "../result-text.ts";
import { path } from "./arguments.ts";
import { writeRefusal } from "./write-refusal.ts";

const name = "delete_file";

const Arguments = z.strictObject({ path });
type Arguments = z.infer<typeof Arguments>;

type Plan = { readonly path: string; readonly preHash: string; readonly sizeBytes: number };
type Facts = { readonly write: FileWrite; readonly plan: Plan };

const callOf = (args: Arguments): Call => ({ tool: name, arguments: args });

/** Deletes one file that was read and has not changed since (ACI-28). */
export const deleteFileAction: ActionDescription<Arguments, Plan, Facts> = {
  name,
  description: "Deletes one file that was read before by read_file; never a folder.",
  reason: "A repair may make a file superfluous.",
  group: "write",
  risk: "RESTRICTED",
  capabilities: [{ grants: ["delete_files", "write_code"] }, protectedWay],
  place: "host",
  semanticFields: ["path"],
  Arguments,
  Record: recordSchema({ path: z.string(), file_bytes: z.number().int(), sha256_before: z.string() }),
  effects: (args) => [{ kind: "delete_path", path: args.path }],
  prepare,
  execute,
  present,
};

async function prepare(context: ActionContext, args: Arguments): Promise<Prepared<Plan>> {
  const target = await openTarget(context, callOf(args), args.path);
  if (target.kind === "refused") return target;
  const { path: resolved, file } = target;
  const stale = checkFresh(context, resolved, file, 1);
  if (stale !== null) return { kind: "refused", refusal: stale };
  return {
    kind: "ready",
    plan: { path: resolved, preHash: file.sha256, sizeBytes: file.sizeBytes },
    preconditions: [fingerprintHolds(file.sha256)],
    intent: { pre_hash: file.sha256, post_hash: null },
  };
}

async function execute(context: ActionContext, plan: Plan): Promise<Executed<Facts>> {
  const write = await context.workspace.deleteFile(plan.path, plan.preHash);
  return {
    facts: { write, plan },
    changeSet: { changes: write.kind === "written" ? [write.change] : [] },
    evidence: { write: write.kind, size_bytes: plan.sizeBytes },
  };
}

function present(context: ActionContext, args: Arguments, { facts }: Executed<Facts>): Presented {
  const { write, plan } = facts;
  if (write.kind !== "written") return presentRefusal(writeRefusal(context, callOf(args), plan.path, write), "failed");
  context.fingerprints.noteChange(write.change, { tool: name, actionId: context.actionId, turn: context.turn });
  const own = { path: args.path, file_bytes: plan.sizeBytes, sha256_before: plan.preHash };
  const text = resultText("ok", `deleted ${args.path} (${plan.sizeBytes} bytes)`, []);
  return { status: "ok", text, record: { ...wholeBody(0, 0), ...own }, refusal: null };
}
