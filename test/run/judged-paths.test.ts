import { expect, it } from "vitest";
import { judgedPaths } from "../../src/run/judged-paths.ts";

const before = { blobSha: "0".repeat(40), mode: "100644", sizeBytes: 1 } as const;
const judged = (path: string, isAdded = false, commands: readonly string[] = []): readonly string[] =>
  judgedPaths([{ path, before: isAdded ? null : before }], commands);

it.each([
  "test/hours.test.js",
  "tests/test_reorder.py",
  "pkg/Spec/a.rb",
  "src/__tests__/a.ts",
  "src/hours.spec.ts",
  "server_test.go",
  "testcalc.py",
  "test-math.js",
  "src/HoursTest.java",
  "setup.py",
  "lib/test_hours.py",
  "a/fixtures/data.json",
  "package.json",
  "sub/package.json",
  "Makefile",
  "pyproject.toml",
  "conftest.py",
  "vitest.config.ts",
  ".mocharc.cjs",
  ".github/countersign.yml",
])("a change of %s touches what judges it", (path) => {
  expect(judged(path)).toEqual([path]);
});

it.each(["src/hours.js", "src/contest.js", "latest/a.js", "src/protest.py", "docs/testing.md", "src/inspector.ts"])(
  "a change of %s is judged by others",
  (path) => {
    expect(judged(path)).toEqual([]);
  },
);

it("a test that the change adds is welcome", () => {
  expect(judged("test/new.test.js", true)).toEqual([]);
});

it.each([
  "unittest.py",
  "functools.py",
  "json/__init__.py",
  "sitecustomize.py",
  "evil.pth",
  "conftest.py",
  "tests/__init__.py",
  ".npmrc",
  "GNUmakefile",
  "package.json",
  "vitest.workspace.ts",
  "node_modules/dep/index.js",
])("a change that only adds %s steers the tests", (path) => {
  expect(judged(path, true)).toEqual([path]);
});

it("a script that the test command names is part of the tests, whatever else it is called", () => {
  expect(judged("scripts/check.sh", false, ["sh scripts/check.sh"])).toEqual(["scripts/check.sh"]);
  expect(judged("scripts/check.sh", false, ["npm test"])).toEqual([]);
  expect(judged("src/sum.awk", false, ["awk -f src/sum.awk"])).toEqual([]);
});
