import { describe, expect, it } from "vitest";
import { compileRepositoryPolicies, noRepositoryPolicies } from "../../src/policy/index.ts";
import { aPath, aRequest, loadStandard } from "../support/policy-requests.ts";

const engine = await loadStandard();
const compile = (...texts: string[]) =>
  compileRepositoryPolicies(
    engine,
    texts.map((text, index) => ({ text, line: 10 + index })),
  );
const migrations =
  '@id("no-migrations") forbid (principal, action, resource) when { context has path && context.path.resolved like "db/migrations/*" };';

describe("the policies of a repository (AUD-24)", () => {
  it("forbid on top of the operator's", () => {
    const repository = compile(migrations);
    const edit = (path: string) => engine.authorize([aRequest({ path: aPath(path) })], repository);

    expect(edit("db/migrations/1.sql")).toMatchObject({ effect: "deny", policyIds: ["repository:no-migrations"] });
    expect(edit("src/app.ts")).toMatchObject({ effect: "allow", policyIds: ["writes"] });
    expect(edit(".github/workflows/x.yml")).toMatchObject({ policyIds: ["floor:github_workflows"] });
  });

  it("may ask for a person where the operator would not", () => {
    const repository = compile(
      '@id("ask") forbid (principal, action == Action::"edit_file", resource) unless { context.approved };',
    );

    expect(engine.authorize([aRequest()], repository)).toMatchObject({
      effect: "require_approval",
      policyIds: ["repository:ask"],
    });
  });

  it("take no name from the operator: equal ids stand beside each other", () => {
    const repository = compile('@id("writes") forbid (principal, action in Action::"write", resource);');

    expect(engine.authorize([aRequest()], repository).policyIds).toEqual(["repository:writes"]);
    expect(engine.authorize([aRequest()], noRepositoryPolicies).policyIds).toEqual(["writes"]);
  });

  it("that fail in evaluation deny", () => {
    const repository = compile(
      '@id("odd") forbid (principal, action, resource) when { context.attempt + 9223372036854775807 < 0 };',
    );

    expect(engine.authorize([aRequest({ attempt: 1 })], repository)).toMatchObject({ policyIds: ["policy_error"] });
  });

  it("of more repositories than are kept compiled each go on deciding as their own", () => {
    const repositories = Array.from({ length: 34 }, (_, index) =>
      compile(
        `@id("r${index}") forbid (principal, action == Action::"edit_file", resource) when { context.input.path != "x${index}" };`,
      ),
    );

    for (const [index, repository] of [...repositories.entries(), ...repositories.entries()]) {
      expect(engine.authorize([aRequest()], repository).policyIds).toEqual([`repository:r${index}`]);
    }
  }, 30_000);

  it.each([
    ["a permit", '@id("open") permit (principal, action, resource);', "line 10, `forbid` 1, at 1:1", "only forbid"],
    [
      "a permit behind a forbid",
      `${migrations}\n @id("open") permit (principal, action, resource);`,
      "at 2:2",
      "only forbid",
    ],
    ["a parse error", '@id("x") forbid (principal, action, resource', "at 1:", "unexpected end"],
    [
      "a schema error",
      '@id("x") forbid (principal, action, resource) when { context.nothing == 1 };',
      "at 1:",
      "nothing",
    ],
    ["no `@id`", "forbid (principal, action, resource);", "at 1:1", "@id"],
  ])("with %s are refused with the position", (_case, text, place, says) => {
    expect(() => compile(text)).toThrowError(expect.objectContaining({ code: "SETTINGS_INVALID" }));
    expect(() => compile(text)).toThrow(place);
    expect(() => compile(text)).toThrow(says);
  });

  it("with a repeated `@id` are refused", () => {
    expect(() => compile(migrations, migrations)).toThrow("line 11, `forbid` 2, at 1:1");
  });

  it("have a digest of their own content", () => {
    expect(compile(migrations).digest).toBe(compile(`  ${migrations}  `).digest);
    expect(compile(migrations).digest).not.toBe(compile(migrations.replace("db/", "database/")).digest);
    expect(compile().digest).toBe(noRepositoryPolicies.digest);
  });
});
