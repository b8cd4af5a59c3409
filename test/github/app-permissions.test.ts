import { expect, it } from "vitest";
import { checkPermissions, neededPermissions } from "../../src/github/index.ts";

it("finds nothing where the App has what it needs", () => {
  expect(checkPermissions(neededPermissions)).toEqual({ missing: [], superfluous: [] });
});

it("names what is missing and what is too much (SEC-117)", () => {
  const { checks: _, ...rest } = neededPermissions;

  expect(checkPermissions({ ...rest, issues: "read", workflows: "write", contents: "admin" })).toEqual({
    missing: [
      { permission: "checks", needed: "write", granted: "none" },
      { permission: "issues", needed: "write", granted: "read" },
    ],
    superfluous: [
      { permission: "contents", needed: "write", granted: "admin" },
      { permission: "workflows", needed: "none", granted: "write" },
    ],
  });
});
