import { describe, expect, it } from "vitest";
import { argumentLines, createAskApproval } from "../../src/cli/ask-approval.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import { createRedactor } from "../../src/domain/index.ts";
import type { AskApproval } from "../../src/run/index.ts";

/** What the person at the terminal is asked, and what becomes of the line that they type. */
function answered(line: string) {
  const asked: string[] = [];
  const { redact } = createRedactor([]);
  const ask = (text: string): Promise<string> => {
    asked.push(text);
    return Promise.resolve(line);
  };
  const askApproval = createAskApproval({ ask, redact } as unknown as Terminal);
  const question = {
    approvalId: "apr_1",
    parsed: { action: { name: "create_file" }, arguments: { path: "package.json" } },
    facts: { risk: "dangerous", paths: [{ resolved: "package.json" }] },
    decision: { policyIds: ["manifest"], advice: { manifest: "look at it" } },
    expiresAt: "2026-03-01T10:00:00Z",
  } as unknown as Parameters<AskApproval>[0];
  return { answer: askApproval?.(question, new AbortController().signal), asked };
}

describe("an answer at the terminal (AUD-28)", () => {
  it.each([
    ["`yes` alone, spaces around it aside", " yes \n", { isGranted: true, reason: "" }],
    ["a reason", "not today", { isGranted: false, reason: "not today" }],
    ["an empty line", "", { isGranted: false, reason: "" }],
    ["another word that means yes", "Yes", { isGranted: false, reason: "Yes" }],
    ["a yes with more behind it", "yes, but", { isGranted: false, reason: "yes, but" }],
  ])("%s", async (_, line, expected) => {
    const { answer, asked } = answered(line);

    await expect(answer).resolves.toEqual(expected);
    expect(asked).toEqual([expect.stringContaining("create_file (dangerous)")]);
  });

  it("is asked for nowhere where nobody can answer", () => {
    expect(createAskApproval({ ask: null } as unknown as Terminal)).toBeNull();
  });
});

it("a question shows all of the arguments: no text is cut, and a written backslash is no line break", () => {
  const long = `# ${"harmless ".repeat(400)}PAYLOAD`;
  const args = {
    path: "a.py",
    content: `${long}\nend`,
    edits: [{ anchor: "print('a\\nb')", replacement: "x\ny" }],
    at: null,
  };

  expect(argumentLines(args)).toEqual([
    "  path: a.py",
    "  content:",
    `  | ${long}`,
    "  | end",
    "  edits.0.anchor: print('a\\nb')",
    "  edits.0.replacement:",
    "  | x",
    "  | y",
    "  at: null",
  ]);
});
