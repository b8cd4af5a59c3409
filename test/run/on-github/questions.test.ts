import { describe, expect, it } from "vitest";
import { type ApprovalId, createRedactor } from "../../../src/domain/index.ts";
import { readButton, toButtons } from "../../../src/gateway/index.ts";
import { type QuestionFacts, questionText } from "../../../src/run/on-github/question-text.ts";

const approvalId = "01900000-0000-7000-8000-0000000000aa" as ApprovalId;
const aQuestion: QuestionFacts = {
  approvalId,
  actionId: "01900000-0000-7000-8000-0000000000ac",
  expiresAt: "2026-01-02T00:00:00.000Z",
  tool: "run_command",
  risk: "DANGEROUS",
  policyIds: ["commands"],
  advice: { commands: "Ask @ada before. ```" },
  paths: [],
  remembered: [],
  arguments: { command: "npm view left-pad" },
};
const asIs = createRedactor([]).redact;

/** The text within the one fence. */
const fencedIn = (markdown: string): string => /^(`{3,})\w*\n([\s\S]*?)\n\1$/m.exec(markdown)?.[2] ?? "";

describe("the question of an approval (AUD-34)", () => {
  it("says what would be done, why it is asked, until when, and the two commands", () => {
    const text = questionText(aQuestion, asIs);

    expect(fencedIn(text)).toBe("npm view left-pad");
    for (const words of [
      "to run this command in the sandbox",
      "`run_command`",
      "risk: `DANGEROUS`",
      "asked for by `commands`",
      "advice of `commands`",
      "`2026-01-02T00:00:00.000Z`",
      `\`/countersign approve ${approvalId}\``,
      `\`/countersign deny ${approvalId}\``,
    ]) {
      expect(text).toContain(words);
    }
    expect(text).not.toContain("@ada");
  });

  it("shows an edit as what goes and what comes, and a fence in it ends nothing", () => {
    const edits = [{ anchor: "```\nold\n", replacement: "new\n" }];
    const facts = { ...aQuestion, tool: "edit_file", paths: ["a.md"], arguments: { path: "a.md", edits } };

    const text = questionText(facts, asIs);

    expect(text).toContain("to change the file `a.md`");
    expect(fencedIn(text)).toBe("-```\n-old\n+new");
  });

  it("cuts at 2,000 characters and says so, secrets removed before: none is cut in two", () => {
    const secret = `ghp_${"a1B2".repeat(9)}`;
    const command = `${"x".repeat(1_990)} ${secret} ${"y".repeat(100)}`;

    const text = questionText({ ...aQuestion, arguments: { command } }, createRedactor([]).redact);

    expect(Array.from(fencedIn(text))).toHaveLength(2_000);
    expect(text).not.toContain(secret.slice(0, 8));
    expect(text).toMatch(/Cut: 2000 of \d+ characters are shown/);
    expect(text).toContain("`countersign audit show 01900000-0000-7000-8000-0000000000ac`");
  });

  it("shows what people do not see: a hidden code point stands there by its number", () => {
    const text = questionText({ ...aQuestion, arguments: { command: "ls \u202Egnp" } }, asIs);

    expect(fencedIn(text)).toBe("ls \\u{202E}gnp");
  });

  it("names the files that a commit would publish, and how many more", () => {
    const paths = Array.from({ length: 25 }, (_, index) => `f${index}.ts`);
    const facts = { ...aQuestion, tool: "push_commit", paths, arguments: { branch: "countersign/issue-1-0" } };

    expect(questionText(facts, asIs)).toContain("to publish 25 files on the branch `countersign/issue-1-0`: `f0.ts`");
    expect(questionText(facts, asIs)).toContain("and 5 more");
  });
});

describe("a question that is no longer open (AUD-34)", () => {
  const at = "2026-01-01T12:00:00.000Z";

  it.each([
    { end: { kind: "granted", by: "ada", at, notDone: null } as const, says: "**Allowed** by `ada` at `2026-" },
    { end: { kind: "refused", by: null, at, notDone: null } as const, says: "**Refused** by a person at" },
    {
      end: { kind: "granted", by: "ada", at, notDone: "late" } as const,
      says: "It was not done: its time was over before it was begun.",
    },
    { end: { kind: "expired" } as const, says: "**Expired**: nobody answered until `2026-01-02" },
    { end: { kind: "dropped" } as const, says: "**No longer asked**" },
  ])("says what became of it, what it was, and no command any more: $end.kind", ({ end, says }) => {
    const text = questionText({ ...aQuestion, end }, asIs);

    expect(text).toContain(says);
    expect(text).toContain("**Countersign** asked for a person's yes: to run this command");
    expect(fencedIn(text)).toBe("npm view left-pad");
    expect(text).not.toContain("/countersign");
  });

  it("shows who answered in code, whatever they are called", () => {
    const end = { kind: "granted", by: "`@ada` <!-- countersign:x -->", at, notDone: null } as const;

    const text = questionText({ ...aQuestion, advice: {}, end }, asIs);

    expect(text).toContain("by `` `");
    expect(text).not.toContain("@ada");
  });
});

describe("the question about a command of the host's own", () => {
  it("shows the command, where it runs and what it reaches", () => {
    const args = { command: "npm ci", timeout_s: 60, network: "registries", changed_dependencies: true };
    const setup = questionText({ ...aQuestion, tool: "run_setup", arguments: args }, asIs);
    const verification = { stage: "after", command: "npm test", timeout_s: 60 };
    const verify = questionText({ ...aQuestion, tool: "run_verification", arguments: verification }, asIs);

    expect(fencedIn(setup)).toBe("npm ci");
    expect(setup).toContain(
      "that reaches the package registries, on the base with the changed manifests and lock files",
    );
    expect(fencedIn(verify)).toBe("npm test");
    expect(verify).toContain("verify command in a fresh sandbox, on the base with the change");
  });
});

describe("the buttons of a check run (GH-44)", () => {
  const others = ["01900000-0000-7000-8000-0000000000bb" as ApprovalId];

  it("keep to GitHub's limits: three, labels and identifiers of 20 characters, descriptions of 40", () => {
    const buttons = toButtons(approvalId);

    expect(buttons).toHaveLength(3);
    for (const { label, description, identifier } of buttons) {
      expect(label.length).toBeLessThanOrEqual(20);
      expect(description.length).toBeLessThanOrEqual(40);
      expect(identifier.length).toBeLessThanOrEqual(20);
    }
  });

  it("lead back to the approval that waits, by a code of twelve characters", () => {
    const read = toButtons(approvalId).map(({ identifier }) => readButton(identifier, [...others, approvalId]));

    expect(read).toEqual([{ verb: "approve", approvalId }, { verb: "deny", approvalId }, { verb: "stop" }]);
  });

  it.each([
    ["a code of no open approval", "approve:0000000000cc"],
    ["another verb", "merge:0000000000aa"],
    ["more than a code", "approve:0000000000aa0"],
    ["nothing", ""],
  ])("of %s ask for nothing", (_, identifier) => {
    expect(readButton(identifier, [...others, approvalId])).toBeNull();
  });

  it("whose code two approvals share asks for nothing", () => {
    const twin = "01900001-0000-7000-8000-0000000000aa" as ApprovalId;

    expect(readButton("approve:0000000000aa", [approvalId, twin])).toBeNull();
  });
});
