import type { LocalGithub } from "../demo/index.ts";
import type { FileChange, JsonObject, RunId } from "../domain/index.ts";
import type { CommitFacts, GithubTool } from "../github/index.ts";

/** What the writes of one round are about; what earlier ones of it made is filled in. */
export type StoryFacts = {
  readonly runId: RunId;
  readonly issue: number;
  readonly branch: string;
  readonly base: CommitFacts;
  readonly changes: readonly FileChange[];
  readonly comment: number;
  readonly pull: number;
  readonly headSha: string;
};

type StoryWrite = {
  readonly name: string;
  readonly tool: GithubTool;
  /** The request that has the effect, as in the local GitHub's log. */
  readonly effect: RegExp;
  readonly args: (facts: StoryFacts) => JsonObject;
  /** How many of what should stand once do. */
  readonly standing: (read: LocalGithub["read"], repository: string, facts: StoryFacts) => Promise<number> | number;
};

const checkRunArgs = ({ headSha }: StoryFacts, revision: number, status: "in_progress" | "completed"): JsonObject => ({
  head_sha: headSha,
  status,
  ...(status === "completed" ? { conclusion: "success" } : {}),
  title: `revision ${revision}`,
  summary: "measured",
  revision,
});

const countOf = (items: readonly unknown[], holds: (text: string) => boolean): number =>
  items.filter((item) => holds(JSON.stringify(item))).length;

const labelsOf = (read: LocalGithub["read"], repository: string, { issue }: StoryFacts): number =>
  countOf([read.issue({ repository, number: issue })["labels"]], (text) => text.includes("at-work"));

/** Every kind of write to GitHub, in an order in which each has what it needs. */
export const story: readonly StoryWrite[] = [
  {
    name: "push_commit",
    tool: "push_commit",
    effect: /^POST .*\/git\/refs$/,
    args: ({ branch, base, changes, runId }) => ({
      branch,
      expected_sha: null,
      parent_sha: base.sha,
      base_tree_sha: base.treeSha,
      message: `A note\n\nCountersign-Run: ${runId}`,
      changes: changes.map(({ path, after }) => ({
        path,
        mode: after?.mode ?? null,
        blob_sha: after?.blobSha ?? null,
      })),
    }),
    standing: async (read, repository, { branch }) => (await read.refs(repository, `refs/heads/${branch}`)).length,
  },
  {
    name: "open_pull_request",
    tool: "open_pull_request",
    effect: /^POST .*\/pulls$/,
    args: ({ branch }) => ({ branch, base: "main", title: "A note", body: "as asked", draft: true }),
    standing: async (read, repository, { branch }) =>
      countOf(await read.pulls(repository), (text) => text.includes(`"ref":"${branch}"`)),
  },
  {
    name: "update_pull_request, text",
    tool: "update_pull_request",
    effect: /^PATCH .*\/pulls\/[^/]+$/,
    args: ({ pull }) => ({ pull_request: pull, title: "A better note", body: "as asked", revision: 1 }),
    standing: async (read, repository, { branch }) =>
      countOf(await read.pulls(repository), (text) => text.includes(`"ref":"${branch}"`) && text.includes("A better")),
  },
  {
    name: "update_pull_request, draft",
    tool: "update_pull_request",
    effect: /graphql$/,
    args: ({ pull }) => ({ pull_request: pull, draft: false, revision: 2 }),
    standing: async (read, repository, { branch }) =>
      countOf(
        await read.pulls(repository),
        (text) => text.includes(`"ref":"${branch}"`) && text.includes('"draft":false'),
      ),
  },
  {
    name: "create_comment",
    tool: "create_comment",
    effect: /^POST .*\/issues\/[^/]+\/comments$/,
    args: ({ issue }) => ({ issue, body: "at work" }),
    standing: (read, repository, { issue }) => read.comments({ repository, number: issue }).length,
  },
  {
    name: "update_comment",
    tool: "update_comment",
    effect: /^PATCH .*\/issues\/comments\/[^/]+$/,
    args: ({ issue, comment }) => ({ issue, comment, body: "done", revision: 1 }),
    standing: (read, repository, { issue }) =>
      countOf(read.comments({ repository, number: issue }), (text) => text.includes('"body":"done')),
  },
  {
    name: "set_check_run, made",
    tool: "set_check_run",
    effect: /^POST .*\/check-runs$/,
    args: (facts) => checkRunArgs(facts, 1, "in_progress"),
    standing: (read, repository, { headSha }) => countOf(read.checkRuns(repository), (text) => text.includes(headSha)),
  },
  {
    name: "set_check_run, changed",
    tool: "set_check_run",
    effect: /^PATCH .*\/check-runs\/[^/]+$/,
    args: (facts) => checkRunArgs(facts, 2, "completed"),
    standing: (read, repository, { headSha }) =>
      countOf(read.checkRuns(repository), (text) => text.includes(headSha) && text.includes("revision 2")),
  },
  {
    name: "add_reaction",
    tool: "add_reaction",
    effect: /^POST .*\/issues\/[^/]+\/reactions$/,
    args: ({ issue }) => ({ issue, content: "eyes" }),
    standing: (read, repository, { issue }) =>
      countOf(read.reactions(repository), (text) => text.includes(`"issue:${issue}"`)),
  },
  {
    name: "add_label",
    tool: "add_label",
    effect: /^POST .*\/labels$/,
    args: ({ issue }) => ({ issue, label: "at-work" }),
    standing: labelsOf,
  },
  {
    name: "remove_label",
    tool: "remove_label",
    effect: /^DELETE .*\/labels\/[^/]+$/,
    args: ({ issue }) => ({ issue, label: "at-work" }),
    standing: (...where) => 1 - labelsOf(...where),
  },
  {
    name: "delete_branch",
    tool: "delete_branch",
    effect: /^DELETE .*\/git\/refs/,
    args: ({ branch, headSha }) => ({ branch, expected_sha: headSha }),
    standing: async (read, repository, { branch }) => 1 - (await read.refs(repository, `refs/heads/${branch}`)).length,
  },
];
