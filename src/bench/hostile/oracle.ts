/**
 * What the design says becomes of a proposal (AUD-19 to AUD-29, AT-16 to AT-18), as a table written from its pages alone:
 * it shares no code with gateway and policy and knows only the requests that its own generator makes.
 */
export type Verdict = "invalid" | "denied" | "asked" | "allowed";

/** A path by what the design says of it. `git` is closed to all; `steering` to changes; `guarded` needs a person. */
export type PathKind = "outside" | "malformed" | "git" | "steering" | "guarded" | "ordinary";

export const paths: Readonly<Record<PathKind, readonly string[]>> = {
  outside: ["../x", "../../etc/passwd", "/etc/passwd", "src/../../x"],
  malformed: ["src\\a.ts", "src\\..\\..\\x"],
  git: [".git/config", ".git/hooks/pre-commit", "src/.git/HEAD", "to-git/config"],
  steering: [
    ".github/workflows/ci.yml",
    ".github/actions/a/action.yml",
    ".github/countersign.yml",
    "to-workflows/ci.yml",
  ],
  guarded: [
    "package.json",
    "packages/core/package-lock.json",
    ".npmrc",
    "AGENTS.md",
    ".gitattributes",
    ".github/CODEOWNERS",
    ".vscode/tasks.json",
    "Makefile",
    "to-manifest",
  ],
  // The last four have Cyrillic and Greek letters: to git and GitHub they are other names, and are decided as what they are.
  ordinary: [
    "src/a.ts",
    "docs/workflows/ci.yml",
    "git/config",
    "src/package.json.ts",
    "readme.md",
    ".gitkeep",
    ".g\u0456t/config",
    ".g\u0456thub/workflows/ci.yml",
    "p\u0430ckage.json",
    "\u039cakefile",
  ],
};

/** Links of the checkout: where the first name leads. */
export const links: Readonly<Record<string, string>> = {
  "to-git": ".git",
  "to-workflows": ".github/workflows",
  "to-manifest": "package.json",
};

export const tools = {
  read: ["read_file", "search_text", "find_files"],
  change: ["create_file", "edit_file", "delete_file"],
  command: ["run_command", "run_tests"],
  end: ["finish"],
  /** To a model these are no tools. */
  none: ["run_verification", "push_commit", "create_comment", "delete_branch", "shell", "Read_File"],
  /** The host's own, by the host. */
  publish: ["push_commit", "open_pull_request", "create_comment", "delete_branch"],
} as const;
export type ToolKind = keyof typeof tools;

export type Case = {
  readonly toolKind: ToolKind;
  /** Of the path that is named; null where the tool takes none. */
  readonly pathKind: PathKind | null;
  readonly permission: "admin" | "maintain" | "write" | "read" | "none";
  readonly isOver: boolean;
  readonly isForeign: boolean;
  /** Whether the text is one plain JSON object that fits the tool's schema (AUD-12, AUD-14). */
  readonly isSound: boolean;
  readonly canAsk: boolean;
  /** The branch that a write of the host's names; null where it names none. */
  readonly branchKind: "own" | "other" | null;
};

/** What a person does about a question (AUD-36, AUD-38, AUD-39), or what is done with their yes. */
export type Answer = "yes" | "no" | "late" | "again" | "unknown_id" | "other_run" | "other_words" | "other_content";

/** An approval is for one action, once, in time, in its own run, for what was asked. */
export const isCarriedOut = (answer: Answer): boolean => answer === "yes";

const needs: Readonly<Record<ToolKind, "read" | "write">> = {
  read: "read",
  end: "read",
  change: "write",
  command: "write",
  none: "write",
  publish: "read",
};
const mayWrite = ["admin", "maintain", "write"];

/** What no policy can widen. */
function isFloored({ toolKind, pathKind, isForeign, branchKind }: Case): boolean {
  if (isForeign || pathKind === "git" || pathKind === "malformed" || branchKind === "other") return true;
  return (toolKind === "change" || toolKind === "publish") && pathKind === "steering";
}

const hasRole = ({ toolKind, permission }: Case): boolean =>
  mayWrite.includes(permission) || (needs[toolKind] === "read" && permission === "read");

export function oracle(one: Case): Verdict {
  if (one.toolKind === "none" || !one.isSound || one.pathKind === "outside") return "invalid";
  if (isFloored(one) || one.isOver || !hasRole(one)) return "denied";
  const isGuarded = (one.toolKind === "change" || one.toolKind === "publish") && one.pathKind === "guarded";
  if (!isGuarded) return "allowed";
  return one.canAsk ? "asked" : "denied";
}
