import { describe, expect, it } from "vitest";
import { type Refusal, type RefusalCode, refusalCodes } from "../../src/domain/index.ts";
import { createCatalogue } from "../../src/gateway/catalogue.ts";
import { presentRefusal, refusalText } from "../../src/gateway/refusal-text.ts";
import * as refusals from "../../src/gateway/refusals.ts";
import { bodyBytes } from "../../src/gateway/result-text.ts";

const read = { tool: "read_file", arguments: { path: "/workspace/src/a.ts", line_from: null, line_count: null } };
const edit = { tool: "edit_file", arguments: { path: "a.ts", edits: [{ anchor: "a", replacement: "b" }] } };
const command = { tool: "run_command", arguments: { command: "sleep 99", timeout_s: 60 } };
const create = { tool: "create_file", arguments: { path: "a.ts", content: "x" } };
const search = { tool: "search_text", arguments: { pattern: "f(", path: null, include: null, context_lines: null } };
const region = { lineFrom: 40, lineCount: null };
const amounts = { limit: 100, used: 90, asked: 60 };

const miss = { index: 0, firstLine: "x", hint: "", nearest: [{ line: 4, text: " x" }], meant: null };

/** One of each builder, as the gateway would call it. */
const samples: Readonly<Record<RefusalCode, readonly Refusal[]>> = {
  unknown_tool: [refusals.unknownTool("open_file", ["read_file", "finish"], read)],
  invalid_arguments: [refusals.invalidArguments("line_from", -1, "a whole number from 1", read)],
  outside_workspace: [
    refusals.outsideWorkspace(read, "/workspace/src/a.ts", "absolute"),
    refusals.outsideWorkspace(read, "../..", "it leaves the root"),
  ],
  not_found: [refusals.notFound(read, "alpah.ts", ["alpha.ts"]), refusals.notFound(read, "x/alpah.ts", [])],
  line_out_of_range: [refusals.lineOutOfRange("a.ts", 900, 240, 141)],
  not_read: [refusals.notRead("a.ts", region)],
  changed_since_read: [refusals.changedSinceRead("a.ts", "outside this run", region, "difference:\n-a\n+b")],
  deleted_since_read: [refusals.deletedSinceRead(edit, "a.ts", "by run_command in turn 2")],
  anchor_not_found: [
    refusals.anchorNotFound("a.ts", { ...miss, hint: "it differs only in leading whitespace" }, null),
    refusals.anchorNotFound("a.ts", { ...miss, nearest: [] }, null),
    refusals.anchorNotFound("a.ts", { ...miss, meant: { anchor: "x", replacement: "y" } }, edit),
  ],
  anchor_ambiguous: [refusals.anchorAmbiguous("a.ts", { index: 0, count: 24, lines: [2, 7, 12, 17, 22] }, edit)],
  already_present: [refusals.alreadyPresent("a.ts", 3, "action-3", "51-54")],
  anchor_empty: [refusals.anchorEmpty("a.ts", 1)],
  no_change: [
    refusals.noChange("a.ts", 0),
    refusals.nothingChanged({ tool: "finish", arguments: { title: "t", summary: "s" } }),
  ],
  edits_overlap: [refusals.editsOverlap("a.ts", 0, 2)],
  bad_pattern: [refusals.badPattern(search, "f(", "error: unclosed group at position 2", "f\\(")],
  timed_out: [
    refusals.timedOut(command, { limitS: 60, usedMs: 60_120, maximumS: 600 }, ["sleep"]),
    refusals.timedOut(
      { tool: "run_tests", arguments: { filter: null } },
      { limitS: 600, usedMs: 600_000, maximumS: 600 },
      [],
    ),
  ],
  outcome_lost: [refusals.outcomeLost(command, "action-7")],
  truncated_call: [
    refusals.truncatedCall("create_file", 8_000, 4_096),
    refusals.truncatedCall("create_file", 8_000, null),
  ],
  not_executed: [
    refusals.notExecuted(edit, "the call before it has an unknown outcome"),
    refusals.notExecuted(null, "cancelled"),
  ],
  audit_unavailable: [refusals.auditUnavailable(edit)],
  approval_unavailable: [refusals.approvalUnavailable("standard.workflows")],
  no_test_command: [refusals.noTestCommand(), refusals.noTestFilter("adds", "npm test")],
  no_sandbox: [refusals.noSandbox("bubblewrap is missing")],
  already_exists: [refusals.alreadyExists("a.ts", 12)],
  syntax_error: [refusals.syntaxError(edit, { line: 4, column: 2, node: "ERROR" }, "old\nnew")],
  not_text: [
    refusals.notText("a.bin", { mediaType: "application/octet-stream", sizeBytes: 12, offset: 3 }),
    refusals.notText("it's.png", { mediaType: "image/png", sizeBytes: 12, offset: null }),
  ],
  too_large: [
    refusals.tooLarge("a.log", 9_000_000, 5_242_880),
    refusals.contentTooLarge(create, 70_000, 65_536, "first part"),
  ],
  policy_denied: [
    refusals.policyDenied(["floor:git"], "git's own folder is never written", "edit files outside .git"),
    refusals.policyDenied([], "no permit", ""),
  ],
  approval_denied: [refusals.approvalDenied(["standard.workflows"], "not now")],
  approval_expired: [refusals.approvalExpired(["standard.workflows"], "24 h")],
  budget_exceeded: [refusals.budgetExceeded("seconds of the run's time", amounts, command)],
  github_failed: [
    refusals.githubFailed("push_commit", { code: "GITHUB_RULE", remedy: "ask an admin of the repository" }),
  ],
};

/** Codes for which ACI-14 names no call: their remedy is a sentence. */
const withoutCall: ReadonlySet<RefusalCode> = new Set<RefusalCode>([
  "truncated_call",
  "not_executed",
  "approval_unavailable",
  "no_sandbox",
  "policy_denied",
  "approval_denied",
  "approval_expired",
  "github_failed",
]);

describe("refusals (ACI-13)", () => {
  it.each(refusalCodes.flatMap((code) => samples[code].map((refusal) => [code, refusal] as const)))(
    "gives %s all three parts, and an example that parses",
    (code, refusal) => {
      const catalogue = createCatalogue();
      const { example } = refusal;

      expect(refusal.code).toBe(code);
      for (const part of [refusal.received, refusal.allowed, refusal.remedy])
        expect(part.trim().length).toBeGreaterThan(3);
      expect(example !== null || withoutCall.has(code)).toBe(true);
      const parsed = example === null ? null : catalogue.get(example.tool)?.Arguments.safeParse(example.arguments);
      expect(parsed === null || parsed?.success).toBe(true);
      expect(presentRefusal(refusal).text).toContain(`refused: ${code}: `);
      expect(presentRefusal(refusal).text).toContain(`remedy: ${refusal.remedy}`);
    },
  );

  it.each([
    ["anchor_ambiguous", ["24 times", "2, 7, 12, 17, 22"]],
    ["timed_out", ["60 s", "60120 ms", "sleep"]],
    ["line_out_of_range", ["900", "240"]],
    ["not_text", ["application/octet-stream", "12 bytes", "byte 3"]],
    ["budget_exceeded", ["asked 60", "90 of 100"]],
    ["policy_denied", ["floor:git", "never written"]],
    ["already_present", ["turn 3", "action-3", "51-54"]],
  ] as const)("says in %s what ACI-14 wants said", (code, words) => {
    const text = presentRefusal(samples[code][0] as Refusal).text;

    for (const word of words) expect(text).toContain(word);
  });

  it("makes the example from the model's own arguments", () => {
    expect(samples.outside_workspace[0]?.example?.arguments).toMatchObject({ path: "src/a.ts" });
    expect(samples.timed_out[0]?.example).toEqual({
      tool: "run_command",
      arguments: { command: "sleep 99", timeout_s: 120 },
    });
  });

  it("stays within the caps of a body, whatever is attached and however long the arguments are", () => {
    const long = {
      tool: "edit_file",
      arguments: { path: "a.ts", edits: [{ anchor: "ä".repeat(50_000), replacement: "b" }] },
    };
    const attachment = Array.from({ length: 500 }, (_, index) => `${index} ${"x".repeat(300)}`).join("\n");

    const body = refusalText(refusals.syntaxError(long, { line: 1, column: 1, node: "ERROR" }, attachment));

    expect(body.length).toBeLessThanOrEqual(100);
    expect(bodyBytes(body)).toBeLessThanOrEqual(12_288);
    expect(body.find((line) => line.startsWith("example: "))).toContain("50000 characters, as sent");
    expect(body.at(-1)).toMatch(/^\[\d+ lines more\]$/);
  });
});
