import {
  assertNever,
  cutRedacted,
  type JsonObject,
  type JsonValue,
  type Redact,
  type Redacted,
  redactTexts,
  showHidden,
} from "../../domain/index.ts";
import type { StoredQuestion } from "../../gateway/index.ts";
import { fenced, inertLine } from "../../github/index.ts";
import { count, inCode, ownInCode } from "./markdown.ts";

/** What a person is asked on GitHub, all of it from the record (AUD-34). */
export type QuestionFacts = StoredQuestion & {
  readonly approvalId: string;
  readonly actionId: string;
  /** ISO 8601. */
  readonly expiresAt: string;
  /** What became of it; absent: it is open. */
  readonly end?: QuestionEnd;
};

/** What became of a question that is no longer open. */
export type QuestionEnd =
  | {
      readonly kind: "granted" | "refused";
      /** A login; null where it is not on record. */
      readonly by: string | null;
      /** ISO 8601. */
      readonly at: string;
      /** Why what was allowed was not done; null where it was, or may yet be. */
      readonly notDone: "changed" | "late" | "denied" | "cancelled" | null;
    }
  | { readonly kind: "expired" }
  /** Nobody answered before the run had no more use for it. */
  | { readonly kind: "dropped" };

const fenceCharacters = 2_000;

/** The question as a comment. `redact` sees the whole of what is fenced, before it is cut: half a secret is not found. */
export function questionText(facts: QuestionFacts, redact: Redact): string {
  const { arguments: args, ...others } = facts;
  const told = redactTexts(redact, others);
  const { approvalId, tool, risk, policyIds, advice, end } = told;
  const { text, note } = cut(redact(showHidden(contentOf(facts)).text), facts.actionId);
  return [
    `**Countersign** ${end === undefined ? "asks" : "asked"} for a person's yes: ${effectOf(told, args)}.`,
    ...(end === undefined ? [] : ["", endText(end, told.expiresAt)]),
    "",
    fenced(text, commandTools.has(facts.tool) ? "sh" : "diff"),
    ...note,
    "",
    `- approval: ${ownInCode(approvalId)}`,
    `- tool: ${inCode(tool)}, risk: ${inCode(risk)}`,
    `- asked for by ${policyIds.map(inCode).join(", ")}`,
    ...Object.entries(advice).map(([id, words]) => `- advice of ${inCode(redact(id))}: ${inertLine(words)}`),
    ...(end === undefined ? howToAnswer(told) : []),
  ].join("\n");
}

const howToAnswer = ({ approvalId, expiresAt }: Pick<QuestionFacts, "approvalId" | "expiresAt">): readonly string[] => [
  `- without an answer until ${ownInCode(expiresAt)} it is not done`,
  "",
  `To allow exactly this, once: ${ownInCode(`/countersign approve ${approvalId}`)}`,
  "",
  `To refuse it: ${ownInCode(`/countersign deny ${approvalId}`)}, with a reason behind it if you like.`,
];

/** In one line who answered, or why nobody has to any more. */
function endText(end: Redacted<QuestionEnd>, expiresAt: string): string {
  switch (end.kind) {
    case "granted":
    case "refused": {
      const by = end.by === null ? "a person" : inCode(end.by);
      const notDone = end.notDone === null ? "" : ` It was not done: ${notDoneCauses[end.notDone]}.`;
      return `**${end.kind === "granted" ? "Allowed" : "Refused"}** by ${by} at ${ownInCode(end.at)}.${notDone}`;
    }
    case "expired":
      return `**Expired**: nobody answered until ${ownInCode(expiresAt)}, so it was not done.`;
    case "dropped":
      return "**No longer asked**: the run ended without an answer, and it was not done.";
    default:
      return assertNever(end);
  }
}

const notDoneCauses = {
  changed: "what was asked about had changed since",
  late: "its time was over before it was begun",
  denied: "the policy no longer let it be done",
  cancelled: "the run ended before",
} as const;

/** In plain words what would be done. */
function effectOf({ tool, paths }: Redacted<Pick<StoredQuestion, "tool" | "paths">>, args: JsonObject): string {
  const files = paths.slice(0, pathsAtMost).map(inCode).join(", ");
  const more = paths.length > pathsAtMost ? ` and ${paths.length - pathsAtMost} more` : "";
  switch (tool) {
    case "create_file":
      return `to create the file ${files}`;
    case "edit_file":
      return `to change the file ${files}`;
    case "delete_file":
      return `to delete the file ${files}`;
    case "run_command":
      return "to run this command in the sandbox, on all files as they are now";
    case "run_setup":
      return `to run the repository's setup command in a fresh sandbox${networkOf(args)}, on the base${args["changed_dependencies"] === true ? " with the changed manifests and lock files" : ""}`;
    case "run_verification":
      return `to run the repository's verify command in a fresh sandbox, on the base${args["stage"] === "after" ? " with the change" : ""}`;
    case "run_tests":
      return "to run the tests in the sandbox, on all files as they are now";
    case "push_commit":
      return `to publish ${count(paths.length, "file")} on the branch ${ownInCode(String(args["branch"]))}: ${files}${more}`;
    default:
      return paths.length === 0 ? `to call ${inCode(tool)}` : `to call ${inCode(tool)} on ${files}${more}`;
  }
}

const pathsAtMost = 20;

const networkOf = ({ network }: JsonObject): string =>
  network === "registries" ? " that reaches the package registries" : " without network";

const commandTools: ReadonlySet<string> = new Set(["run_command", "run_setup", "run_verification"]);

/** The command as it is; of a change its lines with `-` and `+`; else the arguments. */
function contentOf({ tool, arguments: args }: StoredQuestion): string {
  switch (tool) {
    case "run_command":
    case "run_setup":
    case "run_verification":
      return String(args["command"]);
    case "create_file":
      return marked("+", args["content"]);
    case "edit_file":
      return editsOf(args).join("\n");
    case "delete_file":
      return `- ${String(args["path"])}`;
    default:
      return JSON.stringify(args, null, 2);
  }
}

function editsOf({ edits }: JsonObject): readonly string[] {
  if (!Array.isArray(edits)) return [];
  return (edits as readonly JsonObject[]).flatMap(({ anchor, replacement }) => [
    marked("-", anchor),
    ...(replacement === "" ? [] : [marked("+", replacement)]),
  ]);
}

const marked = (sign: "+" | "-", text: JsonValue | undefined): string =>
  String(text ?? "")
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => `${sign}${line}`)
    .join("\n");

type Cut = { readonly text: Redacted<string>; readonly note: readonly string[] };

function cut(text: Redacted<string>, actionId: string): Cut {
  const { length } = Array.from(text);
  if (length <= fenceCharacters) return { text, note: [] };
  const whole = ownInCode(`countersign audit show ${actionId}`);
  return {
    text: cutRedacted(text, fenceCharacters, ""),
    note: [
      "",
      `Cut: ${fenceCharacters} of ${length} characters are shown. Look at all of it with ${whole} before you answer.`,
    ],
  };
}
