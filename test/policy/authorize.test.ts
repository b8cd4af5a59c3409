import { describe, expect, it } from "vitest";
import { type AuthorizeDeps, type DecisionBasis, decide } from "../../src/policy/authorize.ts";
import {
  type AuthorizationRequest,
  compilePolicies,
  compileRepositoryPolicies,
  noRepositoryPolicies,
} from "../../src/policy/index.ts";
import { aPath, aRequest, fullCatalogue, loadStandard, policyDeps } from "../support/policy-requests.ts";

const standard = await loadStandard();
const decideOne = (request: AuthorizationRequest, engine = standard) =>
  engine.authorize([request], noRepositoryPolicies);
const withPolicies = (text: string) =>
  compilePolicies(
    policyDeps,
    new Map([
      ["schema.cedarschema", standard.schema],
      ["own.cedar", text],
    ]),
    fullCatalogue,
  );

type AuthorizationAnswer = ReturnType<AuthorizeDeps["evaluate"]>;

/** A decision over a Cedar that answers what the test wants. */
function decideOver(evaluate: () => AuthorizationAnswer, clock = () => 0) {
  const basis: DecisionBasis = {
    policySetDigest: "p",
    schemaDigest: "s",
    repositoryPolicyDigest: "r",
    engineVersion: "e",
    tools: new Set(["edit_file"]),
    advice: new Map(),
  };
  return decide({ ...policyDeps, clock, evaluate }, basis, [aRequest()]);
}
const answered = (
  decision: "allow" | "deny",
  reason: string[],
  errors: { policyId: string; message: string }[] = [],
): AuthorizationAnswer => ({
  type: "success",
  warnings: [],
  response: {
    decision,
    diagnostics: {
      reason,
      errors: errors.map(({ policyId, message }) => ({
        policyId,
        error: { message, help: null, code: null, url: null, severity: null },
      })),
    },
  },
});

describe("a decision (AUD-25)", () => {
  it("names policies, digests and versions, and holds the request as it was decided", () => {
    const decision = decideOne(aRequest({ path: aPath("package.json") }));

    expect(decision).toMatchObject({
      effect: "require_approval",
      policyIds: ["dangerous", "manifest"],
      policySetDigest: standard.policySetDigest,
      schemaDigest: standard.schemaDigest,
      repositoryPolicyDigest: noRepositoryPolicies.digest,
      engineVersion: "Cedar 4.13.0",
      floorVersion: standard.floorVersion,
      errors: [],
    });
    expect(decision.requests).toEqual([aRequest({ path: aPath("package.json"), risk: "DANGEROUS" })]);
    expect(decision.entitiesDigest).toMatch(/^[0-9a-f]{64}$/);
    expect(decision.advice).toMatchObject({ manifest: expect.stringContaining("Manifests") });
  });

  it("needs every request allowed, and names what stood in the way alone", () => {
    const requests = ["src/a.ts", "package.json", ".github/workflows/x.yml"].map((path) =>
      aRequest({ path: aPath(path) }),
    );

    const all = standard.authorize(requests, noRepositoryPolicies);
    const withoutFloor = standard.authorize(requests.slice(0, 2), noRepositoryPolicies);

    expect([all.effect, all.policyIds]).toEqual(["deny", ["floor:github_workflows"]]);
    expect([withoutFloor.effect, withoutFloor.policyIds]).toEqual(["require_approval", ["dangerous", "manifest"]]);
    expect(all.requests).toHaveLength(3);
  });

  it("denies by default where nothing was asked and where nothing matches", () => {
    expect(standard.authorize([], noRepositoryPolicies)).toMatchObject({ effect: "deny", policyIds: ["default_deny"] });
    expect(decideOver(() => answered("deny", []))).toMatchObject({ effect: "deny", policyIds: ["default_deny"] });
  });

  it("raises the risk that it was told and never lowers it (AUD-28)", () => {
    expect(decideOne(aRequest({ risk: "SAFE", path: aPath("yarn.lock") })).effect).toBe("require_approval");
    expect(decideOne(aRequest({ risk: "DANGEROUS" })).policyIds).toEqual(["dangerous"]);
  });
});

describe("an approval (AUD-27)", () => {
  it("is asked for only where a yes would change the answer", () => {
    const engine = withPolicies(`
      @id("p") permit (principal, action, resource) when { context.approved && context.attempt < 2 };
      @id("never") forbid (principal, action, resource) when { context.attempt == 1 };
    `);

    expect(decideOne(aRequest(), engine)).toMatchObject({ effect: "require_approval", policyIds: ["p"] });
    expect(decideOne(aRequest({ approved: true }), engine)).toMatchObject({ effect: "allow", policyIds: ["p"] });
    expect(decideOne(aRequest({ attempt: 1 }), engine)).toMatchObject({ effect: "deny", policyIds: ["never"] });
    expect(decideOne(aRequest({ attempt: 2 }), engine)).toMatchObject({ effect: "deny", policyIds: ["default_deny"] });
  });

  it("is never asked for where the second look fails", () => {
    const engine = withPolicies(`
      @id("p") permit (principal, action, resource) when { context.approved };
      @id("broken") forbid (principal, action, resource) when { context.approved && context.attempt + 9223372036854775807 > 0 };
    `);

    expect(decideOne(aRequest({ attempt: 1 }), engine)).toMatchObject({ effect: "deny", policyIds: ["policy_error"] });
  });

  it("can be a request itself, so that a set may forbid answering one's own question", () => {
    const person = { id: "1001", login: "ada", permission: "write" } as const;
    const answer = aRequest({
      principal: { kind: "person", person },
      tool: "approve",
      group: "publish",
      path: null,
      input: { approval_id: "a", tool: "edit_file", risk: "DANGEROUS" },
    });
    const strict = withPolicies(`
      @id("answers") permit (principal is User in Role::"write", action == Action::"approve", resource);
      @id("not-the-requester") forbid (principal, action == Action::"approve", resource) when { principal == context.requestedBy };
    `);
    const other = { ...answer, principal: { kind: "person", person: { ...person, id: "7" } } } as const;

    expect(decideOne(answer).effect).toBe("allow");
    expect(decideOne(answer, strict)).toMatchObject({ effect: "deny", policyIds: ["not-the-requester"] });
    expect(decideOne(other, strict).effect).toBe("allow");
  });
});

describe("a path that is asked for under another name (AUD-22)", () => {
  const linked = aRequest({ path: aPath("src/b.ts", { requested: "docs/x/../b.md", symlink: true }) });
  const engine = (...forbids: readonly string[]) =>
    withPolicies(
      ["permit (principal, action, resource)", ...forbids].map((text, at) => `@id("p${at}") ${text};`).join("\n"),
    );

  it.each([
    ["the place asked for, as the resource", 'forbid (principal, action, resource in Folder::"docs")'],
    ["the place to which it leads, as the resource", 'forbid (principal, action, resource in Folder::"src")'],
    [
      "the place asked for, as a path",
      'forbid (principal, action, resource) when { context has path && context.path.resolved == "docs/b.md" }',
    ],
    [
      "the place to which it leads, as a path",
      'forbid (principal, action, resource) when { context has path && context.path.resolved == "src/b.ts" }',
    ],
    [
      "the text asked with",
      'forbid (principal, action, resource) when { context has path && context.path.requested like "docs/x/*" }',
    ],
  ])("is denied by a forbid of %s", (_case, forbid) => {
    expect(decideOne(linked, engine(forbid))).toMatchObject({ effect: "deny", policyIds: ["p1"] });
    expect(decideOne(aRequest(), engine(forbid.replace('"src"', '"lib"'))).effect).toBe("allow");
  });

  it("asks a person where a forbid of either does, and names both where both deny", () => {
    const asks = 'forbid (principal, action, resource in Folder::"docs") unless { context.approved }';
    const denies = 'forbid (principal, action, resource in Folder::"src")';

    expect(decideOne(linked, engine(asks))).toMatchObject({ effect: "require_approval", policyIds: ["p1"] });
    expect(decideOne({ ...linked, approved: true }, engine(asks)).effect).toBe("allow");
    expect(decideOne(linked, engine(asks, denies))).toMatchObject({ effect: "deny", policyIds: ["p2"] });
    expect(decideOne(linked, engine(denies, asks.replace(" unless { context.approved }", ""))).policyIds).toEqual([
      "p1",
      "p2",
    ]);
  });

  it("is permitted by what permits the place to which it leads, and by nothing else", () => {
    const only = (folder: string) =>
      withPolicies(`@id("only") permit (principal, action, resource in Folder::"${folder}");`);

    expect(decideOne(linked, only("src"))).toMatchObject({ effect: "allow", policyIds: ["only"] });
    expect(decideOne(linked, only("docs"))).toMatchObject({ effect: "deny", policyIds: ["default_deny"] });
  });

  it("is denied where looking at either name fails", () => {
    const fails =
      'forbid (principal, action, resource) when { context has path && context.path.resolved == "docs/b.md" && context.attempt + 9223372036854775807 > 0 }';

    expect(decideOne({ ...linked, attempt: 1 }, engine(fails)).policyIds).toEqual(["policy_error"]);
  });
});

describe("an error (AUD-26)", () => {
  const failure: AuthorizationAnswer = {
    type: "failure",
    errors: [{ message: "no such thing", help: null, code: null, url: null, severity: null }],
    warnings: [],
  };
  it.each([
    ["in a policy, though Cedar allows", () => answered("allow", ["p"], [{ policyId: "f", message: "overflow" }])],
    ["in a policy that denies", () => answered("deny", ["f"], [{ policyId: "g", message: "overflow" }])],
    ["of the request", () => failure],
    [
      "thrown by the adapter",
      () => {
        throw new Error("memory access out of bounds");
      },
    ],
  ])("%s denies with `policy_error`", (_case, evaluate) => {
    const decision = decideOver(evaluate);

    expect(decision).toMatchObject({ effect: "deny", policyIds: ["policy_error"] });
    expect(decision.errors.join()).toMatch(/\S/);
  });

  it("is also an allow that took more than 250 ms", () => {
    const ticking = (stepMs: number) => {
      let now = 0;
      return () => {
        now += stepMs;
        return now;
      };
    };

    expect(decideOver(() => answered("allow", ["p"]), ticking(251))).toMatchObject({
      effect: "deny",
      policyIds: ["policy_error"],
    });
    expect(decideOver(() => answered("allow", ["p"]), ticking(250)).effect).toBe("allow");
  });

  it("is also an allow for which Cedar gives no reason", () => {
    expect(decideOver(() => answered("allow", []))).toMatchObject({ effect: "deny", policyIds: ["default_deny"] });
  });

  const engine = withPolicies(`
    @id("all") permit (principal, action, resource);
    @id("broken") forbid (principal, action, resource) when { context.attempt + 9223372036854775807 < 0 };
  `);
  it.each([
    ["a `forbid` that overflows", { attempt: 1 }],
    ["an argument of another type", { input: { path: "src/app.ts", edits: "all" } }],
    ["an argument that the action does not have", { input: { path: "src/app.ts", edits: [], sudo: true } }],
    ["a missing argument", { input: {} }],
    ["a fraction", { input: { path: "src/app.ts", edits: [], more: 0.5 } }],
    ["half a surrogate pair", { input: { path: "\ud800", edits: [] } }],
    [
      "an argument dressed as Cedar's own JSON",
      { input: { path: { __entity: { type: "User", id: "1" } }, edits: [] } },
    ],
    ["a budget that is no number", { budgetLeft: { steps: Number.NaN, tokens: 1, seconds: 1 } }],
    ["a change without a path", { path: null }],
    ["a principal that the action does not take", { principal: { kind: "system" } as const }],
  ])("%s in a real evaluation denies", (_case, overrides) => {
    expect(decideOne(aRequest(), engine).effect).toBe("allow");
    expect(decideOne(aRequest(overrides), engine)).toMatchObject({ effect: "deny", policyIds: ["policy_error"] });
  });
});

describe("what Cedar is told (AUD-19, AUD-20)", () => {
  const facts = aRequest({
    path: aPath("src/lib/app.ts"),
    budgetLeft: { steps: 3, tokens: Number.POSITIVE_INFINITY, seconds: 9.9 },
    input: { path: "src/lib/app.ts", edits: [], unused: null },
  });
  const conditions = [
    'principal in User::"1001"',
    'principal in Role::"read"',
    'resource in Folder::"src"',
    'resource in Folder::"src/lib"',
    'resource in Repository::"2001"',
    'resource == File::"src/lib/app.ts"',
    'context.requestedBy == User::"1001"',
    'context.permission == "write"',
    'context.runState == "in_progress"',
    "context.budgetLeft.steps == 3 && context.budgetLeft.seconds == 9",
    "context.budgetLeft.tokens > 1000000000",
    'context.effects.contains("write_path")',
    'context.path.requested == "src/lib/app.ts" && context.path.class == "file" && !context.path.symlink',
    'context.path.protection == "none"',
    'context.input.path == "src/lib/app.ts"',
  ];

  it("makes every condition true that the design's entities and context promise", () => {
    const engine = withPolicies(
      conditions
        .map((condition, index) => {
          const id = `if-${String(index).padStart(2, "0")}`;
          return `@id("${id}") permit (principal is Run, action == Action::"edit_file", resource) when { ${condition} };`;
        })
        .join("\n"),
    );

    const decision = decideOne(facts, engine);

    expect(decision.errors).toEqual([]);
    expect(conditions.filter((_, index) => !decision.policyIds.includes(engine.policyIds[index] ?? ""))).toEqual([]);
  });

  it("counts a repository's advice as the repository's (AUD-30)", () => {
    const text = '@id("no-src") @advice("ask the core team") forbid (principal, action, resource);';
    const repository = compileRepositoryPolicies(standard, [{ text, line: 1 }]);

    const decision = standard.authorize([aRequest()], repository);

    expect(decision).toMatchObject({ effect: "deny", policyIds: ["repository:no-src"] });
    expect(decision.advice["repository:no-src"]).toBe("the repository says: ask the core team");
    expect(decision.repositoryPolicyDigest).toBe(repository.digest);
  });
});
