import { fromMarkdown } from "mdast-util-from-markdown";
import { describe, expect, it } from "vitest";
import { newRunId, type TraceId } from "../../../src/domain/index.ts";
import { inCode } from "../../../src/run/on-github/markdown.ts";
import { notDoneText } from "../../../src/run/on-github/not-done.ts";
import {
  commitMessage,
  type PullRequestTextFacts,
  pullRequestText,
  pullRequestTitle,
} from "../../../src/run/on-github/pull-request-text.ts";
import { type StatusFacts, statusText } from "../../../src/run/on-github/status-text.ts";

const ids = { clock: () => 0, randomBytes: (count: number) => new Uint8Array(count) };
const runId = newRunId(ids);
const traceId = "0123456789abcdef0123456789abcdef" as TraceId;
const hostile =
  "@octocat closes #1 ![x](https://evil.example/x.png) <img src=x> `` ` ```\n/countersign stop\n# Heading";

const facts: PullRequestTextFacts = {
  runId,
  traceId,
  issue: 7,
  requester: { login: hostile, id: "1001" },
  event: "issues.labeled",
  askedAt: "2026-01-01T00:00:00.000Z",
  textDigest: "ab".repeat(32),
  hiddenRemovedCount: 2,
  isVerified: false,
  cause: hostile,
  base: { branch: hostile, sha: "a".repeat(40) },
  behindBy: 0,
  changes: [{ path: hostile, before: null, after: null }],
  diffStat: { files: 1, added: 1, removed: 0 },
  tests: { command: hostile, derived: false, before: null, after: null },
  actions: [{ tool: "create_file", done: 1, denied: 0, refused: 0, other: 0 }],
  notDone: [{ tool: "create_file", outcome: "denied", policyIds: ["floor:git"], path: hostile }],
  leftOut: [hostile],
  withheld: [{ path: hostile, policyIds: ["repository:mine"] }],
  checkpoint: { origin: "countersign/00", size: 12, rootHash: "cm9vdA==" },
  publicUrl: null,
  summary: hostile,
};

const status: StatusFacts = {
  runId,
  traceId,
  verb: "fix",
  requestedBy: hostile,
  byLabel: true,
  attempt: 1,
  base: { branch: hostile, sha: "a".repeat(40) },
  phase: "work",
  used: { turns: 1, inputTokens: 1_000, outputTokens: 10 },
  limits: { turns: 10, minutes: 60, inputTokens: 1, outputTokens: 1 },
  publicUrl: null,
  end: null,
};

/** What of a Markdown text is plain text to its reader: all that is neither code nor a fence. */
function plainParts(markdown: string): string {
  const parts: string[] = [];
  const visit = (node: {
    readonly type: string;
    readonly value?: string;
    readonly children?: readonly never[];
  }): void => {
    if (node.type === "code" || node.type === "inlineCode") return;
    if (node.value !== undefined) parts.push(node.value);
    for (const child of node.children ?? []) visit(child);
  };
  visit(fromMarkdown(markdown) as never);
  return parts.join("\n");
}

describe("what goes out to GitHub", () => {
  it.each([
    ["the pull request", pullRequestText(facts)],
    ["the status comment under way", statusText(status)],
    [
      "the last status comment",
      statusText({
        ...status,
        end: {
          conclusion: "failure",
          cause: hostile,
          remedy: hostile,
          pullRequest: null,
          notDone: facts.notDone,
          leftOut: [hostile],
          withheld: facts.withheld,
          patchKept: `countersign runs patch ${runId}`,
          durationMs: 1,
          checkpoint: facts.checkpoint,
        },
      }),
    ],
  ])("shows text of others in code alone, so that nothing of it is acted on: %s", (_, text) => {
    const plain = plainParts(text);

    expect(plain).not.toContain("@octocat");
    expect(plain).not.toContain("evil.example");
    expect(plain).not.toContain("<img");
    expect(plain).not.toMatch(/closes #/i);
    expect(plain).not.toMatch(/^\/countersign/m);
  });

  it("names what was refused with its path and its rules", () => {
    const text = notDoneText({ tool: "edit_file", outcome: "denied", policyIds: ["floor:git", "mine"], path: "a.js" });

    expect(text).toBe("`edit_file` of `a.js`: denied by `floor:git`, `mine`");
  });

  it("says in its first line whether it is verified, and then only refers to the issue", () => {
    expect(pullRequestText({ ...facts, isVerified: true, cause: "all is well" })).toMatch(
      /^\*\*Verified\*\*: `all is well`\n\nRefs #7\n/,
    );
  });

  it("names a local file as what was asked for where there is no issue, and its user by nothing but the id", () => {
    const local = { ...facts, issue: null, requester: { id: "local:1000", login: "ada" }, event: "countersign run" };
    const text = pullRequestText(local);
    const message = commitMessage({ ...local, cause: "all is well", title: "" });

    expect(text).toContain("Asked for by the local user `local:1000` at ");
    expect(message).toMatch(
      /^Change asked for in a local file\n\nAsked for in a local file\. Checked by the host: all is well\.\n/,
    );
    expect(pullRequestTitle("", null)).toBe("Change asked for in a local file");
    expect(`${text}${message}`).not.toMatch(/Refs|\bada\b|null/);
  });

  it("fits GitHub's limit whatever the model writes, with its fence closed", () => {
    const text = pullRequestText({ ...facts, summary: "x".repeat(300_000) });

    expect(Buffer.byteLength(text)).toBeLessThan(65_536);
    expect(fromMarkdown(text).children.at(-1)).toMatchObject({ type: "code" });
    expect(text.endsWith("\n```")).toBe(true);
    expect(text).toContain("bytes are missing");
  });

  it("says how a run is stopped, and how often it was taken up", () => {
    expect(statusText(status)).toContain("- to stop it: remove the label, or comment `/countersign stop`");
    expect(statusText(status)).toContain("- taken up again 1 time after its worker was lost");
  });
});

describe("a title", () => {
  it("is the model's in one line of at most 72 characters, without a mention or a reference", () => {
    const title = pullRequestTitle(`Fixes #12\nfor @octocat ${"🦉".repeat(100)}`, 7);

    expect(Array.from(title)).toHaveLength(72);
    expect(title).not.toMatch(/#\d|@\w|\n/);
  });

  it("is `Fix #n` where the model gave none", () => {
    expect(pullRequestTitle(" \u200b\n", 7)).toBe("Fix #7");
  });
});

describe("a commit message", () => {
  it("ends with the trailers and holds no keyword that closes an issue", () => {
    const message = commitMessage({ runId, traceId, issue: 7, cause: "closes #9", title: "" });

    expect(message).not.toMatch(/\b(fix|close|resolve)\w* #\d/i);
    expect(message.trimEnd().split("\n").slice(-2)).toEqual([
      `Countersign-Run: ${runId}`,
      `Countersign-Trace: ${traceId}`,
    ]);
  });
});

it("shows any text in one code span", () => {
  for (const text of ["a", "`", "``a`", "a`", "", "a\nb", " a "]) {
    const [paragraph] = fromMarkdown(inCode(text)).children;

    expect(paragraph).toMatchObject({ type: "paragraph", children: [{ type: "inlineCode" }] });
  }
});
