import { createHash } from "node:crypto";
import { z } from "zod";
import { protectedWay } from "../../policy/index.ts";
import type { FileWrite } from "../../workspace/index.ts";
import type { ActionContext, ActionDescription, Executed, Prepared, Presented } from "../action-description.ts";
import { lineFacts } from "../file-lines.ts";
import { presentRefusal } from "../refusal-text.ts";
import { alreadyExists, type Call, contentTooLarge } from "../refusals.ts";
import { resolveFile } from "../resolve-path.ts";
import { recordSchema, wholeBody } from "../result-record.ts";
import { resultText } from "../result-text.ts";
import { path } from "./arguments.ts";
import { writeRefusal } from "./write-refusal.ts";

const name = "create_file";
const maxContentBytes = 65_536;
const firstPartCharacters = 2_000;

const Arguments = z.strictObject({ path, content: z.string() });
type Arguments = z.infer<typeof Arguments>;

type Plan = { readonly path: string; readonly bytes: Uint8Array; readonly postHash: string };
type Facts = { readonly write: FileWrite; readonly plan: Plan };

const callOf = (args: Arguments): Call => ({ tool: name, arguments: args });

/** Creates one file exclusively; what exists is never overwritten (ACI-27). */
export const createFileAction: ActionDescription<Arguments, Plan, Facts> = {
  name,
  description: `Creates a new file with the content given, byte for byte, and its parent folders; content may be empty. At most ${maxContentBytes} bytes: create a first part and extend it with edit_file. Never overwrites; to change a file use edit_file.`,
  reason: "A repair may need a new file, such as a test.",
  group: "write",
  risk: "RESTRICTED",
  capabilities: [{ grants: ["create_files", "write_code"] }, protectedWay],
  place: "host",
  semanticFields: ["path", "content"],
  Arguments,
  Record: recordSchema({
    path: z.string(),
    file_bytes: z.number().int(),
    file_lines: z.number().int(),
    sha256: z.string(),
  }),
  effects: (args) => [{ kind: "create_path", path: args.path }],
  prepare,
  execute,
  present,
};

async function prepare(context: ActionContext, args: Arguments): Promise<Prepared<Plan>> {
  const call = callOf(args);
  const bytes = Buffer.from(args.content, "utf8");
  if (bytes.length > maxContentBytes) {
    const firstPart = args.content.slice(0, firstPartCharacters);
    return { kind: "refused", refusal: contentTooLarge(call, bytes.length, maxContentBytes, firstPart) };
  }
  const target = await resolveFile(context, call, args.path);
  if (target.kind === "refused") return target;
  const { resolved } = target.path;
  if (target.path.class !== "absent") {
    const read = await context.workspace.readFile(resolved, 1);
    return { kind: "refused", refusal: alreadyExists(args.path, "sizeBytes" in read ? read.sizeBytes : 0) };
  }
  const postHash = createHash("sha256").update(bytes).digest("hex");
  return {
    kind: "ready",
    plan: { path: resolved, bytes, postHash },
    preconditions: [{ name: "path_absent", holds: true, evidence: {} }],
    intent: { pre_hash: null, post_hash: postHash },
  };
}

async function execute(context: ActionContext, plan: Plan): Promise<Executed<Facts>> {
  const write = await context.workspace.createFile(plan.path, plan.bytes);
  return {
    facts: { write, plan },
    changeSet: { changes: write.kind === "written" ? [write.change] : [] },
    evidence: { write: write.kind, size_bytes: plan.bytes.length },
  };
}

function present(context: ActionContext, args: Arguments, { facts }: Executed<Facts>): Presented {
  const { write, plan } = facts;
  if (write.kind !== "written") return presentRefusal(writeRefusal(context, callOf(args), plan.path, write), "failed");
  context.fingerprints.remember(plan.path, write.sha256, plan.bytes);
  context.fingerprints.noteChange(write.change, { tool: name, actionId: context.actionId, turn: context.turn });
  const { totalLines } = lineFacts(args.content);
  const essentials = `created ${args.path}: ${totalLines} lines, ${plan.bytes.length} bytes; sha256 ${write.sha256}; syntax: not_checked`;
  const own = { path: args.path, file_bytes: plan.bytes.length, file_lines: totalLines, sha256: write.sha256 };
  return {
    status: "ok",
    text: resultText("ok", essentials, []),
    record: { ...wholeBody(0, 0), ...own },
    refusal: null,
  };
}
