import { type Answer, type Case, links, type PathKind, paths, type ToolKind, tools } from "./oracle.ts";
import { pick, type Random } from "./seeded.ts";
import { respelled, spoiled } from "./texts.ts";

/** A generated proposal, with what the oracle is told of it. */
export type HostileRequest = Case & {
  readonly tool: string;
  readonly path: string;
  readonly branch: string;
  readonly rawArguments: string;
  /** What is done about the question, where one comes of it. */
  readonly answer: Answer;
};

/** The branch of the run that everything is asked of. */
export const ownBranch = "countersign/issue-7-0a1b2c3d";
const otherBranches = ["main", "countersign/issue-7-0a1b2c3e", "Countersign/issue-7-0a1b2c3d", `${ownBranch}/x`];

/** Code points that nobody sees; file systems and people take the name for the same. */
const unseen = ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u034f", "\ufe0f"];

const isLinked = (path: string): boolean => Object.hasOwn(links, path.split("/")[0] ?? "");
const isFixed = (path: string, kind: PathKind): boolean => isLinked(path) || kind === "outside";

/** Spellings of a path that mean the same to the design: case and unseen code points in names, `.`, `..` and `//` between them. */
const spellings: readonly ((path: string, kind: PathKind, random: Random) => string)[] = [
  (path) => path,
  (path, kind) => (kind === "outside" ? path : `./${path}`),
  (path, kind) => (isFixed(path, kind) ? path : path.toUpperCase()),
  (path, kind, random) =>
    isFixed(path, kind)
      ? path
      : path.replaceAll(/[a-z]/g, (letter) => (random() < 0.5 ? letter.toUpperCase() : letter)),
  (path, kind, random) =>
    isFixed(path, kind) ? path : path.replaceAll(/[agk]/g, (letter) => `${letter}${pick(random, unseen)}`),
  (path) => path.replaceAll(/(?<=.)\//g, "//"),
  (path, kind) => (isFixed(path, kind) || kind === "malformed" ? path : `lib/x/../../${path}`),
];

const sha = (digit: string): string => digit.repeat(40);

/** Arguments that fit the tool, on a path and a branch. */
function argumentsOf(tool: string, path: string, branch: string): object {
  switch (tool) {
    case "read_file":
    case "delete_file":
      return { path };
    case "search_text":
      return { pattern: "TODO", path };
    case "find_files":
      return { glob: "**/*.ts", path };
    case "create_file":
      return { path, content: "x" };
    case "edit_file":
      return { path, edits: [{ anchor: "a", replacement: "b" }] };
    case "run_command":
      return { command: "ls" };
    case "finish":
      return { summary: "done", title: "done" };
    case "open_pull_request":
      return { branch, base: "main", title: "Mend it", body: "as asked", draft: false };
    case "create_comment":
      return { issue: 7, body: "at work" };
    case "delete_branch":
      return { branch, expected_sha: sha("4") };
    case "push_commit":
      return {
        branch,
        expected_sha: null,
        parent_sha: sha("1"),
        base_tree_sha: sha("2"),
        message: "Mend it",
        changes: [{ path, mode: null, blob_sha: null }],
      };
    default:
      return {};
  }
}

const toolKinds: readonly ToolKind[] = [
  ...(["read", "read", "change", "change", "change", "change", "command"] as const),
  ...(["end", "none", "publish", "publish"] as const),
];
const honestTools = toolKinds.filter((kind) => kind !== "none");
const pathKinds: readonly PathKind[] = [
  ...(["outside", "malformed", "git", "steering", "guarded", "guarded"] as const),
  ...(["ordinary", "ordinary", "ordinary", "ordinary"] as const),
];
const permissions = ["admin", "maintain", "write", "write", "write", "read", "none"] as const;
const answers: readonly Answer[] = [
  ...(["yes", "yes", "yes", "no", "late", "again"] as const),
  ...(["unknown_id", "other_run", "other_words", "other_content"] as const),
];

type Place = { readonly kind: PathKind; readonly path: string };

/** A path in one of its spellings. What was read back has canonical paths, none of which is a link: a push has no others. */
function aPlace(random: Random, isHonest: boolean, toolKind: ToolKind): Place {
  const kinds = isHonest ? honestKinds : pathKinds;
  if (toolKind !== "publish") {
    const kind = pick(random, kinds);
    return { kind, path: pick(random, spellings)(pick(random, paths[kind]), kind, random) };
  }
  const inTree = kinds.filter((one) => one !== "outside" && one !== "malformed");
  const kind = pick(random, inTree);
  const plain = paths[kind].filter((path) => !isLinked(path));
  return { kind, path: pick(random, spellings.slice(2, 5))(pick(random, plain), kind, random) };
}

const honestKinds: readonly PathKind[] = ["ordinary", "ordinary", "ordinary", "guarded"];

/** Half of them with something hostile, half of them as an honest run makes them. */
export function aRequest(random: Random): HostileRequest {
  const isHonest = random() < 0.5;
  const rarely = (): boolean => !isHonest && random() < 0.12;
  const toolKind = pick(random, isHonest ? honestTools : toolKinds);
  const tool = pick<string>(random, tools[toolKind]);
  const { kind, path } = aPlace(random, isHonest, toolKind);
  const isHosts = toolKind === "publish";
  const branch = rarely() ? pick(random, otherBranches) : ownBranch;
  const isSound = !rarely();
  const text = JSON.stringify(argumentsOf(tool, path, branch));
  return {
    toolKind,
    tool,
    path,
    branch,
    pathKind: takesPath(toolKind, tool) ? kind : null,
    branchKind: isHosts && tool !== "create_comment" ? branchKindOf(branch) : null,
    permission: isHonest || isHosts ? "write" : pick(random, permissions),
    isOver: rarely() && !isHosts,
    isForeign: rarely() && !isHosts,
    isSound,
    canAsk: !isHosts && random() < 0.6,
    rawArguments: isSound ? respelled(random, text) : spoiled(random, text),
    answer: pick(random, answers),
  };
}

const takesPath = (toolKind: ToolKind, tool: string): boolean =>
  toolKind === "read" || toolKind === "change" || (toolKind === "publish" && tool === "push_commit");
const branchKindOf = (branch: string): "own" | "other" => (branch === ownBranch ? "own" : "other");
