import { createHash } from "node:crypto";
import {
  type ChangeSet,
  CountersignError,
  type FileChange,
  type JsonObject,
  type RunId,
} from "../../src/domain/index.ts";
import type { Found, GithubWrite, GithubWriter, WriteOutcome } from "../../src/github/index.ts";

/** What the network does to one sending. `lost_before`: it never arrived; `lost_after`: it was done and the answer is gone. */
export type Fault = "none" | "lost_before" | "lost_after" | "refused" | "throws";
/** What one look is like. `blind`: it tells nothing; `fails`: GitHub does not answer. */
export type Sight = "clear" | "blind" | "fails";

type Branch = { readonly sha: string; readonly parentSha: string; readonly tree: string; readonly runId: RunId | null };
type Comment = { readonly id: number; readonly issue: number; readonly marker: string; body: string; revision: number };
type PullRequest = {
  readonly number: number;
  readonly branch: string;
  readonly marker: string;
  title: string;
  isDraft: boolean;
  revision: number;
};
type CheckRun = { readonly id: number; readonly key: string; revision: number };

/** A GitHub in memory. Like the real one it does a write as often as it is sent: two sendings make two comments. */
export type GithubWorld = {
  readonly writer: GithubWriter;
  readonly branches: Map<string, Branch>;
  readonly comments: Comment[];
  readonly pullRequests: PullRequest[];
  readonly checkRuns: CheckRun[];
  readonly labels: Set<string>;
  readonly reactions: Set<string>;
  /** In the order sent; a write that never arrived was sent too. */
  readonly sent: GithubWrite[];
  readonly looks: { readonly write: GithubWrite; readonly sinceIso: string }[];
};

const sha = (text: string): string => createHash("sha1").update(text).digest("hex");

/** Git's id of a blob. */
const blobSha = (content: string): string =>
  createHash("sha1")
    .update(`blob ${Buffer.byteLength(content)}\0`)
    .update(content)
    .digest("hex");

/** A change as the read-back makes it; null content is a deletion. */
export function aChange(path: string, content: string | null = `${path}\n`): FileChange {
  const before = { mode: "100644", blobSha: blobSha("before"), sizeBytes: 6 } as const;
  return content === null
    ? { path, before, after: null }
    : { path, before: null, after: { mode: "100644", blobSha: blobSha(content), content: Buffer.from(content) } };
}
export const aChangeSet = (...paths: readonly string[]): ChangeSet => ({ changes: paths.map((path) => aChange(path)) });

/** What identifies the tree that a commit has: paths with modes and blob ids, never the bytes. */
const treeOf = ({ baseTreeSha, changes }: Extract<GithubWrite, { tool: "push_commit" }>): string =>
  sha(
    JSON.stringify([
      baseTreeSha,
      changes.map(({ path, after }) => [path, after?.mode ?? null, after?.blobSha ?? null]),
    ]),
  );

/** `faults` are used up one a sending, `sights` one a look; then everything goes well. */
export function createGithubWorld(faults: readonly Fault[] = [], sights: readonly Sight[] = []): GithubWorld {
  const world = {
    branches: new Map<string, Branch>(),
    comments: [] as Comment[],
    pullRequests: [] as PullRequest[],
    checkRuns: [] as CheckRun[],
    labels: new Set<string>(),
    reactions: new Set<string>(),
    sent: [] as GithubWrite[],
    looks: [] as { write: GithubWrite; sinceIso: string }[],
  };
  const writer: GithubWriter = {
    write: (write, signal) => {
      world.sent.push(write);
      if (signal.aborted)
        return Promise.resolve({ kind: "not_applied", error: new CountersignError("ABORTED", "stopped") });
      const fault = faults[world.sent.length - 1] ?? "none";
      if (fault === "throws") return Promise.reject(new Error("a bug of the writer"));
      return Promise.resolve(sendTo(world, write, fault));
    },
    look: (write, sinceIso, signal) => {
      world.looks.push({ write, sinceIso });
      if (signal.aborted) return Promise.reject(signal.reason);
      const sight = sights[world.looks.length - 1] ?? "clear";
      if (sight === "fails") return Promise.reject(new CountersignError("GITHUB_UNAVAILABLE", "no answer"));
      return Promise.resolve(sight === "blind" ? { kind: "inconclusive", evidence: seen } : find(world, write));
    },
  };
  return { ...world, writer };
}

type Facts = Omit<GithubWorld, "writer">;
const seen: JsonObject = { requestIds: ["AB12:34"], reads: 2 };
const lost = { kind: "unknown", cause: "reset", error: new CountersignError("GITHUB_UNAVAILABLE", "reset") } as const;
const applied = (result: JsonObject) =>
  ({ kind: "applied", result, evidence: { requestIds: ["AB12:34"], httpStatus: 201 } }) as const;

function sendTo(world: Facts, write: GithubWrite, fault: Fault): WriteOutcome {
  if (fault === "refused") {
    return { kind: "not_applied", error: new CountersignError("GITHUB_RULE", "refused by `planted rule`") };
  }
  if (fault === "lost_before") return lost;
  const outcome = carryOut(world, write);
  return fault === "lost_after" ? lost : outcome;
}

const invalid = (): WriteOutcome => ({ kind: "not_applied", error: new CountersignError("GITHUB_INVALID", "422") });

/** Does the write, as GitHub would: each sending anew. */
function carryOut(world: Facts, write: GithubWrite): WriteOutcome {
  switch (write.tool) {
    case "push_commit": {
      if ((world.branches.get(write.branch)?.sha ?? null) !== write.expectedSha) return invalid();
      const commit = sha(`${write.parentSha} ${world.sent.length}`);
      const { parentSha, runId } = write;
      world.branches.set(write.branch, { sha: commit, parentSha, tree: treeOf(write), runId });
      return applied({ commit_sha: commit, url: "https://github.test/planted" });
    }
    case "delete_branch": {
      if (world.branches.get(write.branch)?.sha !== write.expectedSha) return invalid();
      world.branches.delete(write.branch);
      return applied({});
    }
    case "open_pull_request": {
      if (world.pullRequests.some(({ branch }) => branch === write.branch)) return invalid();
      const { actionId: marker, title, draft: isDraft } = write;
      const number = world.pullRequests.length + 100;
      world.pullRequests.push({ number, branch: write.branch, marker, title, isDraft, revision: 0 });
      return applied({ number, title });
    }
    case "update_pull_request": {
      const found = world.pullRequests.find(({ number }) => number === write.pullRequest);
      if (found === undefined) return invalid();
      found.revision = write.revision;
      return applied({ number: found.number });
    }
    case "create_comment": {
      const id = world.comments.length + 500;
      world.comments.push({ id, issue: write.issue, marker: write.actionId, body: write.body, revision: 0 });
      return applied({ comment_id: id, url: "https://github.test/planted" });
    }
    case "update_comment": {
      const found = world.comments.find(({ id }) => id === write.comment);
      if (found === undefined) return invalid();
      found.body = write.body;
      found.revision = write.revision;
      return applied({ comment_id: found.id });
    }
    case "set_check_run": {
      const key = `${write.headSha} ${write.runId}`;
      const found = world.checkRuns.find((one) => one.key === key);
      if (found === undefined) world.checkRuns.push({ id: 900, key, revision: write.revision });
      else found.revision = write.revision;
      return applied({ check_run_id: 900 });
    }
    case "add_label":
      world.labels.add(`${write.issue} ${write.label}`);
      return applied({});
    case "remove_label":
      world.labels.delete(`${write.issue} ${write.label}`);
      return applied({});
    case "add_reaction":
      world.reactions.add(`${JSON.stringify(write.target)} ${write.content}`);
      return applied({ reaction_id: 1 });
  }
}

/** The recipes of AUD-61. */
function find(world: Facts, write: GithubWrite): Found {
  const whether = (result: JsonObject | null): Found =>
    result === null ? { kind: "not_applied", evidence: seen } : { kind: "applied", result, evidence: seen };
  switch (write.tool) {
    case "push_commit": {
      const branch = world.branches.get(write.branch);
      if ((branch?.sha ?? null) === write.expectedSha) return whether(null);
      const isOurs =
        branch?.tree === treeOf(write) && branch.parentSha === write.parentSha && branch.runId === write.runId;
      return isOurs ? whether({ commit_sha: branch.sha }) : { kind: "inconclusive", evidence: seen };
    }
    case "delete_branch": {
      const branch = world.branches.get(write.branch);
      if (branch === undefined) return whether({});
      return branch.sha === write.expectedSha ? whether(null) : { kind: "inconclusive", evidence: seen };
    }
    case "open_pull_request": {
      const found = world.pullRequests.find(({ marker }) => marker === write.actionId);
      return whether(found === undefined ? null : { number: found.number });
    }
    case "update_pull_request":
      return whether(
        world.pullRequests.some(({ number, revision }) => number === write.pullRequest && revision === write.revision)
          ? { number: write.pullRequest }
          : null,
      );
    case "create_comment": {
      const found = world.comments.find(({ marker }) => marker === write.actionId);
      return whether(found === undefined ? null : { comment_id: found.id });
    }
    case "update_comment":
      return whether(
        world.comments.some(({ id, revision }) => id === write.comment && revision === write.revision)
          ? { comment_id: write.comment }
          : null,
      );
    case "set_check_run":
      return whether(
        world.checkRuns.some(
          ({ key, revision }) => key === `${write.headSha} ${write.runId}` && revision === write.revision,
        )
          ? { check_run_id: 900 }
          : null,
      );
    case "add_label":
      return whether(world.labels.has(`${write.issue} ${write.label}`) ? {} : null);
    case "remove_label":
      return whether(world.labels.has(`${write.issue} ${write.label}`) ? null : {});
    case "add_reaction":
      return whether(world.reactions.has(`${JSON.stringify(write.target)} ${write.content}`) ? {} : null);
  }
}

/** What a write of the samples needs to find: the comment, pull request, branch or label that it is about. */
export function seedFor(world: GithubWorld, tool: string): GithubWorld {
  if (tool === "update_comment") world.comments.push({ id: 500, issue: 7, marker: "seed", body: "", revision: 0 });
  if (tool === "update_pull_request") {
    world.pullRequests.push({ number: 100, branch: "x", marker: "seed", title: "", isDraft: true, revision: 0 });
  }
  const left = { sha: "4".repeat(40), parentSha: "1".repeat(40), tree: "", runId: null };
  if (tool === "delete_branch") world.branches.set("countersign/issue-7-0a1b2c3d", left);
  if (tool === "remove_label") world.labels.add("7 countersign");
  return world;
}

/** All that stands, without the ids that each sending makes anew: equal worlds had equal effects. */
export const standing = (world: GithubWorld): JsonObject => ({
  branches: [...world.branches].map(([name, { tree }]) => [name, tree]),
  comments: world.comments.map(({ issue, body, revision }) => [issue, body, revision]),
  pullRequests: world.pullRequests.map(({ number, branch, revision }) => [number, branch, revision]),
  checkRuns: world.checkRuns.map(({ revision }) => revision),
  labels: [...world.labels],
  reactions: [...world.reactions],
});
