import { describe, expect, it } from "vitest";
import { readTestCounts } from "../../src/gateway/test-counts.ts";

const read = (output: string) => readTestCounts(Buffer.from(output));

describe("readTestCounts", () => {
  it.each([
    [
      "node",
      "✔ a (1ms)\n✖ b (2ms)\nℹ tests 2\nℹ pass 1\nℹ fail 1\nℹ skipped 0\n\n✖ failing tests:\n\n✖ b (2ms)\n",
      [1, 1, 0],
      ["b"],
    ],
    ["node", "ok 1 - a\nnot ok 2 - b\n# tests 2\n# pass 1\n# fail 1\n# skipped 0\n", [1, 1, 0], ["b"]],
    ["jest", "  ● sums › adds\n\nTests:       1 failed, 2 skipped, 3 passed, 6 total\n", [3, 1, 2], ["sums › adds"]],
    [
      "vitest",
      " FAIL  test/a.test.ts > adds\n Test Files  1 failed (1)\n      Tests  1 failed | 3 passed | 1 skipped (5)\n",
      [3, 1, 1],
      ["test/a.test.ts > adds"],
    ],
    [
      "pytest",
      "FAILED tests/test_a.py::test_x - assert 1 == 2\n=== 1 failed, 3 passed, 1 skipped in 0.12s ===\n",
      [3, 1, 1],
      ["tests/test_a.py::test_x"],
    ],
    [
      "unittest",
      "FAIL: test_x (test_a.TestA.test_x)\n-----\nRan 5 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)\n",
      [2, 2, 1],
      ["test_x (test_a.TestA.test_x)"],
    ],
    ["go", "--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\n", [1, 1, 0], ["TestB"]],
    [
      "cargo",
      "test a::b ... FAILED\ntest result: FAILED. 4 passed; 1 failed; 2 ignored; 0 measured\n",
      [4, 1, 2],
      ["a::b"],
    ],
    ["tap", "TAP version 13\n1..3\nok 1 - a\nok 2 - b # SKIP no\nnot ok 3 - c\n", [1, 1, 1], ["c"]],
  ] as const)("reads %s", (runner, output, [passed, failed, skipped], failing) => {
    expect(read(output)).toEqual({ runner, passedCount: passed, failedCount: failed, skippedCount: skipped, failing });
  });

  it("adds the sums of several packages", () => {
    expect(read("Ran 2 tests in 0.1s\n\nOK\nRan 3 tests in 0.1s\n\nOK\n")).toMatchObject({
      passedCount: 5,
      failedCount: 0,
    });
  });

  it("says nothing where no runner spoke", () => {
    expect(read("all fine\n")).toBeNull();
  });
});
