import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noRepositoryPolicies } from "../../src/policy/index.ts";
import { aPath, aRequest, loadStandard } from "../support/policy-requests.ts";
import { disguise, names, oracle } from "./oracle.ts";

const engine = await loadStandard();
const effectOf = { floor: "deny", dangerous: "require_approval", ordinary: "allow" } as const;

const name = fc.oneof(
  fc
    .tuple(fc.constantFrom(...names.hostile), fc.array(fc.nat(99), { minLength: 1, maxLength: 8 }))
    .map(([plain, choices]) => disguise(plain, choices)),
  fc.constantFrom(...names.hostile, ...names.legitimate, ...names.lookAlike),
);
const detour = fc.constantFrom([], ["."], [""], ["x", ".."], ["src", "lib", "..", ".."]);
const spelling = fc
  .array(fc.tuple(detour, name), { minLength: 1, maxLength: 5 })
  .map((parts) => parts.flatMap(([way, last]) => [...way, last]))
  .filter((parts) => parts[0] !== "");

/** As the checkout would resolve it. */
const resolve = (parts: readonly string[]): string => {
  const kept: string[] = [];
  for (const part of parts) {
    if (part === "..") kept.pop();
    else if (part !== "." && part !== "") kept.push(part);
  }
  return kept.join("/");
};

function decide(requested: string, resolved: string) {
  const path = aPath(resolved, { requested, symlink: requested !== resolved });
  return engine.authorize([aRequest({ path, input: { path: requested, edits: [] } })], noRepositoryPolicies);
}

describe("paths that mean harm (AUD-22)", () => {
  it("are decided as an oracle written from the design decides them, however they are spelled", () => {
    fc.assert(
      fc.property(spelling, (parts) => {
        expect(decide(parts.join("/"), resolve(parts)).effect).toBe(effectOf[oracle(parts)]);
      }),
      { numRuns: 500 },
    );
  }, 30_000);

  it("are found in the requested spelling alone, and in the resolved one alone", () => {
    fc.assert(
      fc.property(spelling, (parts) => {
        const expected = effectOf[oracle(parts)];

        expect(decide(parts.join("/"), "src/app.ts").effect).toBe(expected);
        expect(decide("src/link", resolve(parts)).effect).toBe(expected);
      }),
      { numRuns: 150 },
    );
  }, 30_000);

  it.each([
    ["src/../.github/workflows/x.yml", "floor:github_workflows"],
    [".GitHub/WORKFLOWS/x.yml", "floor:github_workflows"],
    [".github/work\u200bflows/x.yml", "floor:github_workflows"],
    [".github\u2060/actions/a/action.yml", "floor:github_actions"],
    [".github./countersign.yml ", "floor:countersign_settings"],
    ["\uff0egithub/workflows/x.yml", "floor:github_workflows"],
    ["a/b/.git/hooks/pre-commit", "floor:git_folder"],
    [".GIT", "floor:git_folder"],
    ["git~1/config", "floor:git_folder"],
    [".git::$INDEX_ALLOCATION/config", "floor:git_folder"],
    [".g\u0131t/config", "floor:git_folder"],
    ["src/../../etc/passwd", "floor:malformed_path"],
    ["/etc/passwd", "floor:malformed_path"],
    ["src\\..\\.git", "floor:malformed_path"],
    ["src/a\0b", "floor:malformed_path"],
    ["src/\ud800.ts", "floor:malformed_path"],
  ])("denies %j with %s", (requested, policyId) => {
    const decision = decide(requested, "src/app.ts");

    expect(decision.effect).toBe("deny");
    expect(decision.policyIds).toEqual([policyId]);
    expect(decision.advice[policyId]).toMatch(/\S/);
  });

  it("denies a resolved path that nobody has resolved", () => {
    for (const resolved of ["src/../src/app.ts", "./src", "src//app.ts", "src/", "../x", "/x"]) {
      expect(decide("src/app.ts", resolved).policyIds).toEqual(["floor:malformed_path"]);
    }
  });

  it("lets a workflow be read, as any file of the checkout, and git's folder not", () => {
    const reading = (path: string) =>
      engine.authorize(
        [aRequest({ tool: "read_file", risk: "SAFE", path: aPath(path, { kind: "read_path" }), input: { path } })],
        noRepositoryPolicies,
      );

    expect(reading(".github/workflows/ci.yml").effect).toBe("allow");
    expect(reading("package.json").effect).toBe("allow");
    expect(reading("vendor/.git/config").policyIds).toEqual(["floor:git_folder"]);
  });
});
