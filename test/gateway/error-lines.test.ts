import { describe, expect, it } from "vitest";
import { createErrorClassifier } from "../../src/gateway/error-lines.ts";

describe("createErrorClassifier (ACI-9)", () => {
  it.each([
    ["npx jest", "  ● sums › adds two numbers"],
    ["npx vitest run", " FAIL  test/sum.test.ts > adds"],
    ["python -m pytest", "E   assert 1 == 2"],
    ["go test ./...", "sum.go:12:3: undefined: total"],
    ["npx tsc --noEmit", "src/a.ts(1,2): error TS2304: Cannot find name 'b'."],
    ["npx eslint .", "  12:5  error  'x' is not defined  no-undef"],
    ["gcc -c a.c", "a.c:3:1: error: expected ';'"],
    ["make", "make: *** [Makefile:2: test] Error 1"],
  ])("knows what %s prints for an error", (command, line) => {
    expect(createErrorClassifier(command)(line)).toBe(true);
  });

  it.each([
    "Error: boom",
    "TypeError: x is not a function",
    "3 failed",
    "panic: nil",
    "fatal: no",
    "Traceback (most recent call last):",
    "java.lang.NullPointerException",
    "✗ adds",
    "2 errors",
  ])("falls back on common words: %s", (line) => {
    expect(createErrorClassifier("./check")(line)).toBe(true);
  });

  it.each([
    "0 errors",
    "no errors found",
    "ℹ fail 0",
    "# fail 0",
    "failures=0",
    "Failed: 0",
    "✓ tells an error",
    "ok 3 - fails on bad input",
    "copied src/errors.ts",
    "mirror",
    "all fine",
  ])("is not misled by %s", (line) => {
    expect(createErrorClassifier("npm test")(line)).toBe(false);
  });

  it("finds the failure beside a count of zero", () => {
    expect(createErrorClassifier("npm test")("0 errors, 2 failures")).toBe(true);
  });
});
