import { randomUUID } from "node:crypto";
import { appendFile, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CommitDraft, type ParsedCommit, parseCommit, writeCommit } from "./commit-object.ts";
import { isSha, remembered, rememberedFor } from "./remembered.ts";
import { gitText, runGit, tryGit } from "./run-git.ts";

export type Ref = { readonly name: string; readonly sha: string; readonly type: string };
export type TreeRow = {
  readonly mode: string;
  readonly type: string;
  readonly sha: string;
  readonly size: number | null;
  readonly path: string;
};
/** A null `sha` takes the path out. */
export type TreeChange = { readonly path: string; readonly mode: string; readonly sha: string | null };
export type FileDiff = {
  readonly status: "added" | "removed" | "modified" | "renamed";
  readonly path: string;
  readonly previousPath: string | null;
  readonly sha: string;
  readonly additions: number;
  readonly deletions: number;
  readonly patch: string;
};

const noObject = "0".repeat(40);

/** Git's own plumbing over the bare repositories of one GitHub. `folder` is a bare repository. */
const plainGit = {
  async init(folder: string): Promise<void> {
    await runGit(folder, ["init", "--quiet", "--bare", "--initial-branch=main", folder]);
    await appendFile(join(folder, "config"), serving);
  },
  /** Takes all branches of a repository on this machine; its current branch becomes the default one, which is returned. */
  async takeOver(folder: string, source: string): Promise<string> {
    await runGit(folder, ["fetch", "--quiet", source, "+refs/heads/*:refs/heads/*"]);
    const head = await readFile(join(source, ".git/HEAD"), "utf8");
    const branch = /^ref: refs\/heads\/(.+)$/m.exec(head)?.[1] ?? "main";
    await writeFile(join(folder, "HEAD"), `ref: refs/heads/${branch}\n`);
    return branch;
  },
  async isEmpty(folder: string): Promise<boolean> {
    return (await gitText(folder, ["for-each-ref", "--count=1"])) === "";
  },
  /** Null: there is no such object. */
  async typeOf(folder: string, sha: string): Promise<string | null> {
    const result = await tryGit(folder, ["cat-file", "-t", sha]);
    return result.exitCode === 0 ? result.stdout.toString("utf8").trim() : null;
  },
  /** The object that a SHA, branch or tag names, as a commit; null if there is none. */
  async resolve(folder: string, revision: string, type = "commit"): Promise<string | null> {
    if (revision.startsWith("-")) return null;
    const result = await tryGit(folder, [
      "rev-parse",
      "--verify",
      "--quiet",
      "--end-of-options",
      `${revision}^{${type}}`,
    ]);
    return result.exitCode === 0 ? result.stdout.toString("utf8").trim() : null;
  },
  writeBlob: (folder: string, bytes: Uint8Array): Promise<string> =>
    gitText(folder, ["hash-object", "-w", "--stdin"], { input: bytes }),
  readBlob: (folder: string, sha: string): Promise<Buffer> => runGit(folder, ["cat-file", "blob", sha]),
  async readTree(folder: string, sha: string, isRecursive: boolean): Promise<readonly TreeRow[]> {
    const flags = isRecursive ? ["-r", "-t"] : [];
    const out = await runGit(folder, ["ls-tree", "-z", "-l", ...flags, sha]);
    return out.toString("utf8").split("\0").filter(Boolean).map(toTreeRow);
  },
  /** A tree from another one (or none) and changes, through an index of its own. */
  async writeTree(folder: string, base: string | null, changes: readonly TreeChange[]): Promise<string> {
    const index = join(folder, `index-${randomUUID()}`);
    const env = { GIT_INDEX_FILE: index };
    try {
      await runGit(folder, ["read-tree", ...(base === null ? ["--empty"] : [base])], { env });
      const files = changes.filter(isFile);
      await putFiles(folder, env, files);
      for (const change of changes) if (!isFile(change)) await putOther(folder, env, change);
      return await gitText(folder, ["write-tree"], { env });
    } finally {
      await rm(index, { force: true });
    }
  },
  writeCommit: (folder: string, draft: CommitDraft): Promise<string> =>
    gitText(folder, ["hash-object", "-t", "commit", "-w", "--stdin"], { input: writeCommit(draft) }),
  async readCommit(folder: string, sha: string): Promise<ParsedCommit> {
    return parseCommit(sha, await runGit(folder, ["cat-file", "commit", sha]));
  },
  async refs(folder: string, prefix: string): Promise<readonly Ref[]> {
    const out = await gitText(folder, ["for-each-ref", "--format=%(refname)%00%(objectname)%00%(objecttype)"]);
    return out
      .split("\n")
      .map((line) => line.split("\0"))
      .map(([name = "", sha = "", type = ""]) => ({ name, sha, type }))
      .filter((ref) => ref.name.startsWith(prefix));
  },
  async ref(folder: string, name: string): Promise<string | null> {
    const loose = name.includes("..") ? "" : await readFile(join(folder, name), "utf8").catch(() => "");
    if (isSha(loose.trim())) return loose.trim();
    const result = await tryGit(folder, ["show-ref", "--verify", "--hash", name]);
    return result.exitCode === 0 ? result.stdout.toString("utf8").trim() : null;
  },
  async isRefName(folder: string, name: string): Promise<boolean> {
    return (await tryGit(folder, ["check-ref-format", name])).exitCode === 0;
  },
  /** `expected` null: the ref must not exist. False: it wasn't as expected, nothing was done. */
  async setRef(folder: string, name: string, sha: string, expected: string | null): Promise<boolean> {
    return (await tryGit(folder, ["update-ref", name, sha, expected ?? noObject])).exitCode === 0;
  },
  async deleteRef(folder: string, name: string): Promise<void> {
    await runGit(folder, ["update-ref", "-d", name]);
  },
  async isAncestor(folder: string, ancestor: string, descendant: string): Promise<boolean> {
    return (await tryGit(folder, ["merge-base", "--is-ancestor", ancestor, descendant])).exitCode === 0;
  },
  async mergeBase(folder: string, one: string, other: string): Promise<string | null> {
    const result = await tryGit(folder, ["merge-base", one, other]);
    return result.exitCode === 0 ? result.stdout.toString("utf8").trim() : null;
  },
  /** Commits that `head` has and `base` has not, oldest first. */
  async commitsBetween(folder: string, base: string, head: string): Promise<readonly string[]> {
    const out = await gitText(folder, ["rev-list", "--reverse", `${base}..${head}`]);
    return out === "" ? [] : out.split("\n");
  },
  async history(folder: string, head: string): Promise<readonly string[]> {
    const out = await gitText(folder, ["rev-list", head]);
    return out === "" ? [] : out.split("\n");
  },
  /** Whether two trees merge without a conflict. */
  async mergesCleanly(folder: string, base: string, head: string): Promise<boolean> {
    return (await tryGit(folder, ["merge-tree", "--write-tree", base, head])).exitCode === 0;
  },
  diff: async (folder: string, base: string, head: string): Promise<readonly FileDiff[]> =>
    Promise.all((await changedPaths(folder, base, head)).map((change) => withCounts(folder, base, head, change))),
};

export type GitStore = typeof plainGit;

/**
 * What follows from object ids alone never changes, so it is asked of git once: a process for each question would make the
 * larger part of a request's time.
 */
export function createGitStore(): GitStore {
  return {
    ...plainGit,
    typeOf: remembered(plainGit.typeOf, (type) => type !== null),
    readCommit: remembered(plainGit.readCommit),
    readBlob: remembered(plainGit.readBlob),
    isAncestor: remembered(plainGit.isAncestor),
    mergeBase: remembered(plainGit.mergeBase),
    commitsBetween: remembered(plainGit.commitsBetween),
    history: remembered(plainGit.history),
    mergesCleanly: remembered(plainGit.mergesCleanly),
    diff: remembered(plainGit.diff),
    isEmpty: rememberedFor(plainGit.isEmpty, (isEmpty) => !isEmpty),
  };
}

/** GitHub serves any reachable or hidden commit by its SHA, and partial clones. */
const serving = `[uploadpack]
\tallowAnySHA1InWant = true
\tallowFilter = true
[core]
\tlogAllRefUpdates = false
[gc]
\tauto = 0
`;

function toTreeRow(row: string): TreeRow {
  const tab = row.indexOf("\t");
  const [mode = "", type = "", sha = "", size = "-"] = row.slice(0, tab).split(/ +/);
  return { mode, type, sha, size: size === "-" ? null : Number(size), path: row.slice(tab + 1) };
}

type Environment = Readonly<Record<string, string>>;
type PutFile = TreeChange & { readonly sha: string };
const isFile = (change: TreeChange): change is PutFile => change.sha !== null && change.mode !== "040000";

async function putFiles(folder: string, env: Environment, files: readonly PutFile[]): Promise<void> {
  const input = files.map(({ mode, sha, path }) => `${mode} ${sha}\t${path}\0`).join("");
  await runGit(folder, ["update-index", "--add", "--replace", "-z", "--index-info"], { env, input });
}

/** A removal, or a whole tree that takes the place of what was there. */
async function putOther(folder: string, env: Environment, { path, sha }: TreeChange): Promise<void> {
  const inside = (await runGit(folder, ["ls-files", "-z", "--cached"], { env })).toString("utf8").split("\0");
  const gone = inside.filter((file) => file === path || file.startsWith(`${path}/`));
  const input = gone.map((file) => `0 ${noObject}\t${file}\0`).join("");
  await runGit(folder, ["update-index", "-z", "--index-info"], { env, input });
  if (sha === null) return;
  const rows = (await runGit(folder, ["ls-tree", "-r", "-z", "-l", sha])).toString("utf8").split("\0").filter(Boolean);
  await putFiles(
    folder,
    env,
    rows.map(toTreeRow).map((row) => ({ ...row, path: `${path}/${row.path}` })),
  );
}

type Change = Pick<FileDiff, "status" | "path" | "previousPath" | "sha">;

async function changedPaths(folder: string, base: string, head: string): Promise<readonly Change[]> {
  const out = await runGit(folder, ["diff-tree", "-r", "-z", "-M", "--raw", "--no-abbrev", base, head]);
  const parts = out.toString("utf8").split("\0");
  const changes: Change[] = [];
  for (let at = 0; at < parts.length - 1; ) {
    const [, , before = "", after = "", letter = ""] = (parts[at] ?? "").split(" ");
    const isRename = letter.startsWith("R");
    changes.push({
      status: statusOf(letter),
      path: parts[isRename ? at + 2 : at + 1] ?? "",
      previousPath: isRename ? (parts[at + 1] ?? null) : null,
      sha: letter === "D" ? before : after,
    });
    at += isRename ? 3 : 2;
  }
  return changes;
}

function statusOf(letter: string): FileDiff["status"] {
  if (letter === "A") return "added";
  if (letter === "D") return "removed";
  return letter.startsWith("R") ? "renamed" : "modified";
}

async function withCounts(folder: string, base: string, head: string, change: Change): Promise<FileDiff> {
  const paths = change.previousPath === null ? [change.path] : [change.previousPath, change.path];
  const args = (format: string): readonly string[] => ["diff", "-M", format, base, head, "--", ...paths];
  const literal = { env: { GIT_LITERAL_PATHSPECS: "1" } };
  const [added, removed] = (await gitText(folder, args("--numstat"), literal)).split("\t");
  const whole = (await runGit(folder, args("--patch"), literal)).toString("utf8");
  const hunks = whole.indexOf("\n@@");
  return {
    ...change,
    additions: Number(added) || 0,
    deletions: Number(removed) || 0,
    patch: hunks < 0 ? "" : whole.slice(hunks + 1).trimEnd(),
  };
}
