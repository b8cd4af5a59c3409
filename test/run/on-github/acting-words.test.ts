import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor, newRunId, redactTexts, Secret, type TraceId } from "../../../src/domain/index.ts";
import { checkText } from "../../../src/run/on-github/check-text.ts";
import {
  commitMessage,
  type PullRequestTextFacts,
  pullRequestText,
  pullRequestTitle,
} from "../../../src/run/on-github/pull-request-text.ts";
import { type StatusFacts, statusText } from "../../../src/run/on-github/status-text.ts";

const runId = newRunId({ clock: () => 0, randomBytes: (count: number) => new Uint8Array(count) });
const traceId = "0123456789abcdef0123456789abcdef" as TraceId;

/** Facts whose every foreign word is this text. */
const factsOf = (text: string): PullRequestTextFacts & { readonly title: string } => ({
  runId,
  traceId,
  issue: 7,
  requester: { login: text, id: text },
  event: text,
  askedAt: "2026-01-01T00:00:00.000Z",
  textDigest: "ab".repeat(32),
  hiddenRemoved: {},
  isVerified: false,
  cause: text,
  base: { branch: text, sha: "a".repeat(40) },
  behindBy: 0,
  changes: [{ path: text, before: null, after: null }],
  diffStat: { files: 1, added: 1, removed: 0 },
  tests: { command: text, derived: false, before: null, after: null },
  actions: [{ tool: text, done: 1, denied: 0, refused: 0, other: 0 }],
  notDone: [{ tool: text, outcome: text, policyIds: [text], advice: [text], path: text }],
  leftOut: [text],
  withheld: [{ path: text, policyIds: [text] }],
  checkpoint: { origin: text, size: 12, rootHash: "cm9vdA==" },
  publicUrl: null,
  title: text,
  summary: text,
});

function endedWith(text: string): StatusFacts {
  const { notDone, leftOut, withheld, checkpoint } = factsOf(text);
  return {
    runId,
    traceId,
    verb: "fix",
    requestedBy: text,
    byLabel: true,
    attempt: 0,
    base: { branch: text, sha: "a".repeat(40) },
    phase: "settle",
    used: { turns: 1, inputTokens: 1, outputTokens: 1 },
    limits: null,
    outageCount: 0,
    waitingFor: [],
    publicUrl: null,
    end: {
      ...{ conclusion: "failure", cause: text, remedy: text, pullRequest: null, patchKept: null, durationMs: 1 },
      ...{ notDone, leftOut, withheld, checkpoint },
    },
  };
}

const { redact } = createRedactor([]);
/** All that we write to GitHub of a text of others, as it stands there. */
const written: readonly (readonly [string, (text: string) => string])[] = [
  ["the title", (text) => pullRequestTitle(redact(text), 7)],
  ["the commit message", (text) => commitMessage(redactTexts(redact, factsOf(text)))],
  ["the pull request", (text) => pullRequestText(redactTexts(redact, factsOf(text)))],
  ["the check run", (text) => checkText(redactTexts(redact, factsOf(text))).summary],
  ["the status comment", (text) => statusText(redactTexts(redact, endedWith(text)))],
];

/** What others look for in the raw text: GitHub in the message of a squashed commit, trackers, builds, releases, bots. */
const readers: readonly (readonly [name: string, form: RegExp])[] = [
  ["GitHub, for issues", /#\p{N}|\bGH-\d|:\/\//iu],
  ["GitHub, for people", /@[\p{L}\p{N}]/u],
  ["GitLab", /!\d/],
  ["a tracker, for keys", /\b[A-Z][A-Z0-9_]+-\d/],
  ["a tracker, for smart commits", /#\p{L}/u],
  ["builds", /\[\s*(?:skip|no|ci)[ _-]*(?:ci|cd|actions|skip|netlify)|\b(?:skip|no)[\s_-]*(?:ci|checks|actions)\b/i],
  ["builds, the other way round", /\b(?:ci|cd|actions|netlify)[\s_-]+skip/i],
  ["git, for trailers", /-(?:by|as|checks) ?:/i],
  ["git, for a rebase", /\b(?:fixup|squash|amend)!/],
  ["makers of releases", /BREAKING[ -]CHANGE|\+semver/],
  ["bots, for a command", /^[\s>]*(?:[/!]\w|@?bors\b|lgtm|recheck)/im],
  ["merge bots", /\br\+/],
];

/** References of the host's own stand on purpose, and it names a digest. */
const withoutOurs = (text: string): string =>
  text.replaceAll(/(?:Refs|Asked for in|Fix|asked for in) #7\b/g, "").replaceAll("SHA-256", "");
const actedOn = (text: string): readonly string[] =>
  readers.filter(([, form]) => form.test(withoutOurs(text))).map(([name]) => name);

const lines = [
  "PROJ-12 #close",
  "PROJ-12 #resolve fixed it",
  "PROJ-12 #time 2h #comment done",
  "AB#12",
  "fixes #1",
  "Fixes acme/x#1",
  "closes: #1",
  "Resolved GH-1",
  "resolves gh-1",
  "closes https://github.com/acme/x/issues/1",
  "see !12",
  "[skip ci]",
  "[ci skip]",
  "[no ci]",
  "[skip actions]",
  "[actions skip]",
  "[skip-ci]",
  "[skip netlify]",
  "[netlify skip]",
  "***NO_CI***",
  "skip-checks: true",
  "skip ci",
  "Co-authored-by: M <m@evil.example>",
  "Signed-off-by : M <m@evil.example>",
  "Release-As: 9.0.0",
  "BREAKING CHANGE: all of it",
  "+semver: major",
  "fixup! the last one",
  "@acme/team please",
  "@dependabot merge",
  "/merge",
  "/approve cancel",
  "/lgtm",
  "!merge",
  "bors r+",
  "LGTM",
  "recheck",
];

describe("what others would act on in a text that we write (SEC-115)", () => {
  it.each(lines)("is seen by one of them in `%s` as it is", (line) => {
    expect(actedOn(line)).not.toEqual([]);
  });

  it.each(written)("is dead in %s, in code and in fences too, and reads the same", (name, toText) => {
    for (const line of lines) {
      const text = toText(name === "the title" || name === "the commit message" ? `It is: ${line}` : `It is\n${line}`);
      expect({ line, actedOn: actedOn(text) }).toEqual({ line, actedOn: [] });
      expect(text.replaceAll("\u200b", "")).toContain(line);
    }
  });

  it.each(written)("is dead in %s, whatever it is made of", (_, toText) => {
    const parts = fc.oneof(
      fc.constantFrom(...lines, "\n", " ", "`", "```", "-", "#", "@", "\\", "\u200b", "\t"),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 6 }), (made) => {
        expect(actedOn(toText(`It is: ${made.join("")}`))).toEqual([]);
      }),
    );
  });

  it("leaves what is our own as it is, so that it can be copied", () => {
    const text = statusText(redactTexts(redact, endedWith("x")));

    for (const own of [`countersign runs show ${runId}`, traceId, "cm9vdA==", "a".repeat(40)])
      expect(text).toContain(`\`${own}\``);
  });
});

describe("a secret that would be broken apart (SEC-100, SEC-97)", () => {
  const secret = ["db", "@", "host", "#1", "://", "skip ci", "/no-ci"].join("-");
  const known = createRedactor([new Secret(secret)]);

  it.each<[string, (text: string) => string]>([
    ["the title", (text) => pullRequestTitle(known.redact(text), 7)],
    ["the commit message", (text) => commitMessage(redactTexts(known.redact, factsOf(text)))],
    ["the pull request", (text) => pullRequestText(redactTexts(known.redact, factsOf(text)))],
    ["the check run", (text) => checkText(redactTexts(known.redact, factsOf(text))).summary],
    ["the status comment", (text) => statusText(redactTexts(known.redact, endedWith(text)))],
  ])("is taken out of %s before", (_, toText) => {
    const text = toText(`It is ${secret}.`).replaceAll("\u200b", "");

    expect(text).not.toContain("db-@");
    expect(text).toContain("redacted]");
    expect(toText(`${"x".repeat(40)} ${secret} ${"y".repeat(600)}`).replaceAll("\u200b", "")).not.toContain("db-@");
  });

  it("is not looked for in a text that nobody has redacted: such a text is not taken", () => {
    // @ts-expect-error a string is no redacted text
    const title = (): string => pullRequestTitle(secret, 7);
    // @ts-expect-error nor are facts that nobody has looked through
    const message = (): string => commitMessage(factsOf(secret));

    expect([title, message]).toHaveLength(2);
  });
});
