import { fromMarkdown } from "mdast-util-from-markdown";
import { describe, expect, it } from "vitest";
import { newRunId, type TraceId } from "../../../src/domain/index.ts";
import type { PullRequestTextFacts } from "../../../src/run/on-github/pull-request-text.ts";
import type { StatusFacts } from "../../../src/run/on-github/status-text.ts";
import {
  checkText,
  commitMessage,
  inCode,
  notDoneText,
  pullRequestText,
  pullRequestTitle,
  statusText,
} from "./outgoing-texts.ts";

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
  hiddenRemoved: { html_comment: 1, zero_width: 1 },
  isVerified: false,
  cause: hostile,
  base: { branch: hostile, sha: "a".repeat(40) },
  behindBy: 0,
  changes: [{ path: hostile, before: null, after: null }],
  diffStat: { files: 1, added: 1, removed: 0 },
  tests: { command: hostile, derived: false, before: null, after: null },
  actions: [{ tool: "create_file", done: 1, denied: 0, refused: 0, other: 0 }],
  notDone: [{ tool: "create_file", outcome: "denied", policyIds: ["floor:git"], advice: [], path: hostile }],
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
  outageCount: 0,
  base: { branch: hostile, sha: "a".repeat(40) },
  phase: "work",
  waitingFor: [],
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

describe("what goes out to GitHub (AT-34, SEC-115)", () => {
  it.each([
    ["the pull request", pullRequestText(facts)],
    ["the check run", checkText(facts).summary],
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

  it("says how many hidden items were removed, of which kinds, and nothing where there were none (SEC-15)", () => {
    expect(pullRequestText(facts)).toContain(
      "\n2 hidden items removed from the text before the model saw it: 1 html comment, 1 zero width.\n",
    );
    expect(pullRequestText({ ...facts, hiddenRemoved: {} })).not.toContain("hidden item");
  });

  it("names what was refused with its path, its rules and their advice (AUD-30)", () => {
    const text = notDoneText({
      tool: "edit_file",
      outcome: "denied",
      policyIds: ["floor:git", "mine"],
      advice: ["ask *us*"],
      path: "a.js",
    });

    expect(text).toBe("`edit_file` of `a.js`: denied by `floor:git`, `mine` (`ask *us*`)");
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

const liveLines = [
  "Fixes https://github.com/acme/x/issues/1",
  "closes acme/x#1 and GH-2",
  "see www.evil.example or x@evil.example",
  "it [skip ci]",
  "it [CI skip]",
  "it [no ci]",
  "it [skip actions]",
  "it [actions skip]",
  "it [skip-ci]",
  "it [skip netlify]",
  "it ***NO_CI***",
  "it skip-checks: true",
  "it skip-checks:true",
  "Co-authored-by: Mallory <m@evil.example>",
];
/** What is acted on in a title or in a commit message. */
const live =
  /@\w|#\d|\bgh-\d|:\/\/|www\.|\[[^\]\u200b]*(skip|no|ci)|\b(skip|no)[ _-]?(ci|checks|actions)\b|\b(ci|actions) skip\b|\*\*\*|authored-by:/i;
const readable = (text: string): string => text.replaceAll("\u200b", "");

describe("a title (AT-35, SEC-115)", () => {
  it("is the model's in one line of at most 72 characters, without a mention or a reference", () => {
    const title = pullRequestTitle(`Fixes #12\nfor @octocat ${"🦉".repeat(100)}`, 7);

    expect(Array.from(title)).toHaveLength(72);
    expect(title).not.toMatch(/#\d|@\w|\n/);
  });

  it.each(liveLines)("has nothing in it that GitHub or a build would act on, and reads the same: `%s`", (text) => {
    const title = pullRequestTitle(text, 7);

    expect(title).not.toMatch(live);
    expect(readable(title)).toBe(text);
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

describe("a commit message of others' words", () => {
  it.each(liveLines)("has nothing in it that GitHub or a build would act on: `%s`", (text) => {
    const message = commitMessage({ runId, traceId, issue: 7, cause: text, title: text });
    const [subject, , reason] = message.split("\n");

    expect(`${subject}\n${reason?.replace("Asked for in #7.", "")}`).not.toMatch(live);
  });

  it("holds the host's two trailers and no other, and a reason of bounded length", () => {
    const cause = `x\n\nCo-authored-by: Mallory <m@evil.example>\nCountersign-Run: other\n${"y".repeat(5_000)}`;
    const message = commitMessage({ runId, traceId, issue: 7, cause, title: "Countersign-Run: other\n\nA: b" });
    const paragraphs = message.trimEnd().split("\n\n");

    expect(paragraphs).toHaveLength(3);
    expect(paragraphs[2]).toBe(`Countersign-Run: ${runId}\nCountersign-Trace: ${traceId}`);
    expect(paragraphs.slice(0, 2).join("\n")).not.toMatch(/^[\w-]+: /m);
    expect(message.length).toBeLessThan(1_000);
  });
});

it("shows any text in one code span", () => {
  for (const text of ["a", "`", "``a`", "a`", "", "a\nb", " a "]) {
    const [paragraph] = fromMarkdown(inCode(text)).children;

    expect(paragraph).toMatchObject({ type: "paragraph", children: [{ type: "inlineCode" }] });
  }
});

it.each([
  ["a\u202eb\u202c", "`a\\u{202e}b\\u{202c}`"],
  ["a\u2066b\u2069", "`a\\u{2066}b\\u{2069}`"],
  ["a\u200bb\u{e0041}\u3164", "`a\\u{200b}b\\u{e0041}\\u{3164}`"],
  ["a\u2028b\ud800", "`a\\u{2028}b\\u{d800}`"],
])("shows in a code span what nobody could see: %j", (text, shown) => {
  expect(inCode(text)).toBe(shown);
});

it("keeps a tool's name in its cell, whatever is in it", () => {
  const actions = [{ tool: "x|@octocat|`", done: 1, denied: 0, refused: 0, other: 0 }];

  expect(pullRequestText({ ...facts, actions })).toContain(
    "\n| `` x\\u{7c}@\u200boctocat\\u{7c}` `` | 1 | 0 | 0 | 0 |\n",
  );
});
