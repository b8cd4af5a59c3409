import { createHash } from "node:crypto";
import { z } from "zod";
import { assertNever, type Refusal } from "../../domain/index.ts";
import { protectedWay } from "../../policy/index.ts";
import type { FileWrite } from "../../workspace/index.ts";
import type { ActionContext, ActionDescription, Executed, Prepared, Presented } from "../action-description.ts";
import { checkFresh, fingerprintHolds, openTarget, type PresentFile } from "../edit-checks.ts";
import { checkEdits, type Edit, type EditedText, editText, type LineRange } from "../edit-text.ts";
import { textLines } from "../file-lines.ts";
import { lineAt } from "../find-anchor.ts";
import type { AppliedEdit } from "../fingerprints.ts";
import { numberedWindows, rangesText } from "../numbered-window.ts";
import { presentRefusal } from "../refusal-text.ts";
import * as refusals from "../refusals.ts";
import { recordSchema, wholeBody } from "../result-record.ts";
import { bodyBytes, fitBody, resultText, standardCaps } from "../result-text.ts";
import { type DecodedText, decodeText, encodeText, isBinary } from "../text-bytes.ts";
import { path } from "./arguments.ts";
import { writeRefusal } from "./write-refusal.ts";

const name = "edit_file";
const linesAround = 4;

const Arguments = z.strictObject({
  path,
  edits: z
    .array(z.strictObject({ anchor: z.string(), replacement: z.string() }))
    .min(1)
    .max(20),
});
type Arguments = z.infer<typeof Arguments>;

type Plan = {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly text: string;
  readonly preHash: string;
  readonly postHash: string;
  readonly ranges: readonly LineRange[];
};
type Facts = { readonly write: FileWrite; readonly plan: Plan };

const callOf = (args: Arguments): refusals.Call => ({ tool: name, arguments: args });
const sha256Of = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const keyOf = (args: Arguments): string => sha256Of(Buffer.from(JSON.stringify(args.edits)));

/** Replaces unique pieces of text in one file, all or none (ACI-32 to ACI-36). */
export const editFileAction: ActionDescription<Arguments, Plan, Facts> = {
  name,
  description:
    "Changes one file that was read before: each anchor is replaced by its replacement. An anchor is copied from the file exactly (spaces, tabs, no line numbers) and must occur exactly once; take neighbouring lines in if it doesn't. All anchors refer to the text before the call, may not overlap, and are applied all or none; 1-20 edits. An empty replacement deletes. For a new file use create_file.",
  reason: "The repair itself: the smallest change of a file that can be checked before it is written.",
  group: "write",
  risk: "RESTRICTED",
  capabilities: [{ grants: ["write_code"] }, protectedWay],
  place: "host",
  semanticFields: ["path", "edits"],
  Arguments,
  Record: recordSchema({
    path: z.string(),
    edits_count: z.number().int(),
    changed_lines: z.string(),
    already_applied: z.boolean(),
    sha256: z.string(),
    syntax: z.enum(["ok", "not_checked"]),
  }),
  effects: (args) => [{ kind: "write_path", path: args.path }],
  prepare,
  execute,
  present,
};

/** The checks in the order of ACI-40; the new text is computed here, so that its hash is known before the write. */
async function prepare(context: ActionContext, args: Arguments): Promise<Prepared<Plan>> {
  const call = callOf(args);
  const flaw = checkEdits(args.edits);
  if (flaw !== null) return { kind: "refused", refusal: editRefusal(args, flaw) };
  const target = await openTarget(context, call, args.path);
  if (target.kind === "refused") return target;
  const { path: resolved, file } = target;
  const decoded = decodeText(file.bytes);
  const repeated = ownRepetition(context, args, resolved, { file, decoded });
  if (repeated !== null) return repeated;
  const stale = checkFresh(context, resolved, file, anchorLine(args, decoded));
  if (stale !== null) return { kind: "refused", refusal: stale };
  if (decoded.kind === "undecodable" || isBinary(file.bytes)) {
    const offset = decoded.kind === "undecodable" ? decoded.offset : null;
    const about = { mediaType: "a file that is not text", sizeBytes: file.sizeBytes, offset };
    return { kind: "refused", refusal: refusals.notText(args.path, about) };
  }
  const edited = editText(decoded.text, args.edits);
  if (edited.kind !== "edited") return { kind: "refused", refusal: editRefusal(args, edited) };
  const bytes = encodeText(edited.text, decoded.encoding);
  const postHash = sha256Of(bytes);
  const plan = { path: resolved, bytes, text: edited.text, preHash: file.sha256, postHash, ranges: edited.ranges };
  return {
    kind: "ready",
    plan,
    preconditions: [
      fingerprintHolds(file.sha256),
      { name: "anchors_unique", holds: true, evidence: { edits_count: args.edits.length } },
    ],
    intent: { pre_hash: file.sha256, post_hash: postHash },
  };
}

const anchorLine = (args: Arguments, decoded: DecodedText): number => {
  const at = decoded.kind === "text" ? decoded.text.indexOf(args.edits[0]?.anchor ?? "") : -1;
  return at === -1 || decoded.kind !== "text" ? 1 : lineAt(decoded.text, at);
};

function editRefusal(args: Arguments, flaw: Exclude<EditedText, { kind: "edited" }>): Refusal {
  switch (flaw.kind) {
    case "anchor_empty":
      return refusals.anchorEmpty(args.path, flaw.index);
    case "no_change":
      return refusals.noChange(args.path, flaw.index);
    case "anchor_not_found": {
      const { meant, index } = flaw.miss;
      return refusals.anchorNotFound(args.path, flaw.miss, meant === null ? null : withEdit(args, index, meant));
    }
    case "edits_overlap":
      return refusals.editsOverlap(args.path, flaw.first, flaw.second);
    case "anchor_ambiguous":
      return refusals.anchorAmbiguous(args.path, flaw, withEdit(args, flaw.index, flaw.widened));
    default:
      return assertNever(flaw);
  }
}

/** The call with one of its edits put right. */
const withEdit = ({ path: edited, edits }: Arguments, at: number, right: Edit): refusals.Call => ({
  tool: name,
  arguments: { path: edited, edits: edits.map((edit, index) => (index === at ? right : edit)) },
});

type Now = { readonly file: PresentFile; readonly decoded: DecodedText };

/** The model asks again for what this run has applied (ACI-47). */
function ownRepetition(context: ActionContext, args: Arguments, resolved: string, now: Now): Prepared<Plan> | null {
  const key = keyOf(args);
  const { file, decoded } = now;
  const applied = context.fingerprints.edits(resolved);
  const last = applied.at(-1);
  if (last?.key === key && last.postHash === file.sha256) {
    return { kind: "already_done", presented: presentAlready(args, last) };
  }
  const earlier = applied.findLast((edit) => edit.key === key);
  if (earlier === undefined || decoded.kind !== "text" || !stands(decoded.text, args)) return null;
  const refusal = refusals.alreadyPresent(args.path, earlier.turn, earlier.actionId, earlier.lines);
  return { kind: "refused", refusal };
}

/** Every replacement is there, and its anchor is gone or lies inside the replacement. */
function stands(text: string, args: Arguments): boolean {
  const folded = text.replaceAll("\r\n", "\n");
  return args.edits.every(({ anchor, replacement }) => {
    const wanted = replacement.replaceAll("\r\n", "\n");
    const without = wanted === "" ? folded : folded.replaceAll(wanted, () => "\u0000");
    return folded.includes(wanted) && !without.includes(anchor.replaceAll("\r\n", "\n"));
  });
}

function presentAlready(args: Arguments, edit: AppliedEdit): Presented {
  const essentials = `already applied: these edits of ${args.path} were made in turn ${edit.turn} (action ${edit.actionId}) and stand at lines ${edit.lines}; nothing was changed`;
  const body = ["If a second copy is meant, use a longer anchor that tells the place apart."];
  return {
    status: "ok",
    text: resultText("ok", essentials, body),
    record: { ...wholeBody(body.length, bodyBytes(body)), ...ownRecord(args, edit.lines, edit.postHash, true) },
    refusal: null,
  };
}

const ownRecord = (args: Arguments, lines: string, sha256: string, isRepeated: boolean) => ({
  path: args.path,
  edits_count: args.edits.length,
  changed_lines: lines,
  already_applied: isRepeated,
  sha256,
  syntax: "not_checked",
});

async function execute(context: ActionContext, plan: Plan): Promise<Executed<Facts>> {
  const write = await context.workspace.replaceFile(plan.path, plan.bytes, plan.preHash);
  const isWritten = write.kind === "written";
  return {
    facts: { write, plan },
    changeSet: { changes: isWritten ? [write.change] : [] },
    evidence: { write: write.kind, size_bytes: plan.bytes.length },
  };
}

function present(context: ActionContext, args: Arguments, { facts }: Executed<Facts>): Presented {
  const { write, plan } = facts;
  if (write.kind !== "written") return presentRefusal(writeRefusal(context, callOf(args), plan.path, write), "failed");
  const by = { tool: name, actionId: context.actionId, turn: context.turn };
  const lines = rangesText(plan.ranges);
  context.fingerprints.remember(plan.path, write.sha256, plan.bytes);
  context.fingerprints.noteChange(write.change, by);
  context.fingerprints.noteEdit(plan.path, {
    ...by,
    key: keyOf(args),
    preHash: plan.preHash,
    postHash: write.sha256,
    lines,
  });
  const windows = numberedWindows(textLines(plan.text), plan.ranges, linesAround);
  const fitted = fitBody(windows, standardCaps);
  const essentials = `edited ${args.path} lines ${lines}; sha256 ${write.sha256}; syntax: not_checked`;
  return {
    status: "ok",
    text: resultText("ok", essentials, fitted.body),
    record: {
      ...wholeBody(windows.length, bodyBytes(windows)),
      shown_lines: fitted.shownLines,
      omitted_lines: fitted.omittedLines,
      clipped_lines: fitted.clippedLines,
      ...ownRecord(args, lines, write.sha256, false),
    },
    refusal: null,
  };
}
