import fc from "fast-check";
import type { Nodes } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import { describe, expect, it } from "vitest";
import { newRunId, type TraceId } from "../../../src/domain/index.ts";
import type { PullRequestTextFacts } from "../../../src/run/on-github/pull-request-text.ts";
import type { StatusFacts } from "../../../src/run/on-github/status-text.ts";
import {
  answerText,
  checkText,
  commitMessage,
  pullRequestText,
  pullRequestTitle,
  statusText,
} from "./outgoing-texts.ts";

const runId = newRunId({ clock: () => 0, randomBytes: (count: number) => new Uint8Array(count) });
const traceId = "0123456789abcdef0123456789abcdef" as TraceId;
const issue = 7;

/** Whatever GitHub, git or a build acts on, in any order and with anything in between. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ..."@acme/team|@octocat|#1|GH-3|gh-4|acme/x#2|Closes #1|Fixes |resolves: |https://github.com/acme/x/issues/1".split(
          "|",
        ),
        ..."![x](https://evil.example/x.png)~[x](https://evil.example)~<img src=x>~<!-- x -->~www.evil.example".split(
          "~",
        ),
        ..."[skip ci]|[ci skip]|[no ci]|[skip actions]|[actions skip]|***NO_CI***|skip-checks: true|[SKIP-CI]|skip|ci".split(
          "|",
        ),
        ..."Co-authored-by: M <m@evil.example>|Countersign-Run: x|/countersign stop|m@evil.example|&#64;acme|&num;1".split(
          "|",
        ),
        ..."`|``|```|~~~|[|]|(|)|*|**|_|#|@|\\|<|>|!|- |> |1. |    | ".split("|"),
        ...["|", "\n", "\r", "\n\n", "\t", "\0", "\u001b[31m", "\u0085", "\u2028", "\ud800", "é", "🦉"],
        ...[
          "\u202e",
          "\u202c",
          "\u2066",
          "\u2069",
          "\u200e",
          "\u200f",
          "\u061c",
          "\u200b",
          "\u2060",
          "\ufeff",
          "\u{e0041}",
        ],
      ),
      fc.string({ unit: "binary", maxLength: 4 }),
    ),
    { maxLength: 16 },
  )
  .map((parts) => parts.join(""));

const turning = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/;
const control = /(?![\n\t])\p{Cc}/u;
const reference = /@\w|#\d|\bgh-\d|:\/\/|\bwww\./i;
const skipping = /\[\s*(skip|no|ci|actions)|\b(skip|no)[\s_-]*(ci|checks|actions)\b|\b(ci|actions)[\s_-]*skip|\*\*/i;

/** Our own references are no one else's. */
const withoutOurs = (text: string): string => text.replaceAll(/(Refs|Asked for in|Fix|asked for in) #7\b/g, "");

const nodesOf = (node: Nodes): readonly Nodes[] => [
  node,
  ...("children" in node ? node.children.flatMap(nodesOf) : []),
];

function expectHarmless(markdown: string): void {
  const nodes = nodesOf(fromMarkdown(markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }));
  const plain = nodes.map((node) => (node.type === "text" ? node.value : "")).join("\n");

  expect(nodes.map(({ type }) => type).filter((type) => /^(link|image|html|definition|footnote)/i.test(type))).toEqual(
    [],
  );
  expect(withoutOurs(plain)).not.toMatch(reference);
  expect(plain).not.toMatch(/evil|^\/countersign/m);
  expect(markdown).not.toMatch(turning);
  expect(markdown).not.toMatch(control);
}

const pullRequestFacts = (text: string): PullRequestTextFacts => ({
  runId,
  traceId,
  issue,
  requester: { login: text, id: text },
  event: text,
  askedAt: "2026-01-01T00:00:00.000Z",
  textDigest: "ab".repeat(32),
  hiddenRemoved: { html_comment: 1, zero_width: 1 },
  isVerified: false,
  cause: text,
  base: { branch: text, sha: "a".repeat(40) },
  behindBy: 0,
  changes: [{ path: text, before: null, after: null }],
  diffStat: { files: 1, added: 1, removed: 0 },
  tests: { command: text, derived: false, before: null, after: null },
  actions: [{ tool: text, done: 1, denied: 0, refused: 0, other: 0 }],
  notDone: [
    { tool: text, outcome: "denied", policyIds: [text], advice: [text], path: text },
    { tool: text, outcome: text, policyIds: [], advice: [], path: null },
  ],
  leftOut: [text],
  withheld: [{ path: text, policyIds: [text] }],
  checkpoint: { origin: text, size: 12, rootHash: "cm9vdA==" },
  publicUrl: null,
  summary: text,
});

const statusFacts = (text: string): StatusFacts => ({
  runId,
  traceId,
  verb: "fix",
  requestedBy: text,
  byLabel: true,
  attempt: 1,
  outageCount: 0,
  base: { branch: text, sha: "a".repeat(40) },
  phase: "work",
  waitingFor: [],
  used: { turns: 1, inputTokens: 1_000, outputTokens: 10 },
  limits: null,
  publicUrl: null,
  end: null,
});

function ended(text: string): StatusFacts {
  const { notDone, leftOut, withheld, checkpoint } = pullRequestFacts(text);
  const told = { conclusion: "failure", cause: text, remedy: text, pullRequest: null, patchKept: text } as const;
  return { ...statusFacts(text), end: { ...told, notDone, leftOut, withheld, durationMs: 1, checkpoint } };
}

describe("whatever others' words are", () => {
  it.each<[string, (text: string) => string]>([
    ["the pull request", (text) => pullRequestText(pullRequestFacts(text))],
    ["the check run", (text) => checkText(pullRequestFacts(text)).summary],
    ["the status comment under way", (text) => statusText(statusFacts(text))],
    ["the last status comment", (text) => statusText(ended(text))],
    [
      "the answer to a command",
      (text) => answerText({ code: "explain_on_command_line", runId: text, commandCount: 2, id: text }),
    ],
  ])("nothing of %s is acted on", (_, toText) => {
    fc.assert(
      fc.property(hostile, (text) => expectHarmless(toText(text))),
      { numRuns: 300 },
    );
  });

  it.each<[string, (text: string) => string]>([
    ["a title", (text) => pullRequestTitle(text, issue)],
    ["a commit message", (text) => commitMessage({ runId, traceId, issue, cause: text, title: text })],
  ])("nothing of %s is acted on, and it leaves out no build", (_, toText) => {
    fc.assert(
      fc.property(hostile, (text) => {
        const plain = toText(text);

        expect(withoutOurs(plain)).not.toMatch(reference);
        expect(plain).not.toMatch(skipping);
        expect(plain).not.toMatch(turning);
        expect(plain).not.toMatch(control);
        expect(plain).not.toMatch(/<\w|<!--|authored-by:/i);
      }),
      { numRuns: 1_000 },
    );
  });

  it("a commit message has three paragraphs, the last of them our trailers", () => {
    fc.assert(
      fc.property(hostile, hostile, (title, cause) => {
        const paragraphs = commitMessage({ runId, traceId, issue, cause, title })
          .trimEnd()
          .split(/\n\s*\n/);

        expect(paragraphs).toHaveLength(3);
        expect(paragraphs[2]).toBe(`Countersign-Run: ${runId}\nCountersign-Trace: ${traceId}`);
      }),
    );
  });
});
