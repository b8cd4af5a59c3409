import { expect, it } from "vitest";
import { judgedPaths } from "../../src/run/judged-paths.ts";

const before = { blobSha: "0".repeat(40), mode: "100644" };

it.each([
  "test/hours.test.js",
  "tests/test_reorder.py",
  "pkg/Spec/a.rb",
  "src/__tests__/a.ts",
  "src/hours.spec.ts",
  "server_test.go",
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
  expect(judgedPaths([{ path, before }])).toEqual([path]);
});

it.each(["src/hours.js", "src/contest.js", "latest/a.js", "src/protest.py", "docs/testing.md", "src/inspector.ts"])(
  "a change of %s is judged by others",
  (path) => {
    expect(judgedPaths([{ path, before }])).toEqual([]);
  },
);

it("a test that the change adds is welcome", () => {
  expect(judgedPaths([{ path: "test/new.test.js", before: null }])).toEqual([]);
});
