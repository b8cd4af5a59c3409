import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadPolicies, noRepositoryPolicies } from "../../src/policy/index.ts";
import { aRequest, fullCatalogue, loadStandard, policyDeps, standardFolder } from "../support/policy-requests.ts";

const permit = "permit (principal, action, resource)";
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "countersign-policies-"));
  await cp(standardFolder, folder, { recursive: true });
});
afterEach(() => rm(folder, { recursive: true }));

const load = () => loadPolicies(policyDeps, folder, fullCatalogue);
const write = (file: string, text: string | Uint8Array) => writeFile(path.join(folder, file), text);

describe("a policy folder (AUD-18)", () => {
  it("loads with every text, and gives the same digest for the same bytes alone", async () => {
    const [first, second] = [await load(), await loadStandard()];
    await write("permits.cedar", `${first.policyText.get("permits.cedar")}\n`);
    const changed = await load();

    expect([...first.policyText.keys()]).toEqual(["approvals.cedar", "permits.cedar", "schema.cedarschema"]);
    expect(first.policySetDigest).toMatch(/^[0-9a-f]{64}$/);
    expect(second.policySetDigest).toBe(first.policySetDigest);
    expect(changed.policySetDigest).not.toBe(first.policySetDigest);
    expect(changed.schemaDigest).toBe(first.schemaDigest);
  });

  it("leaves an engine as it was when another one is loaded", async () => {
    const standard = await load();
    await write("closed.cedar", '@id("closed") forbid (principal, action, resource);');
    const closed = await load();

    expect(standard.authorize([aRequest()], noRepositoryPolicies).effect).toBe("allow");
    expect(closed.authorize([aRequest()], noRepositoryPolicies).policyIds).toEqual(["closed"]);
  });

  it.each([
    ["a parse error", `// é\n@id("a") ${permit} when { context.risk = "SAFE" };`, "own.cedar:2:54", "try using '=='"],
    ["a missing `@id`", `@id("a") ${permit};\n\n  ${permit};`, "own.cedar:3:3", "@id"],
    [
      "a repeated `@id` in one file",
      `@id("a") ${permit};\n@id("a") ${permit};`,
      "own.cedar:2:1",
      "own.cedar:1:1 already",
    ],
    ["an `@id` of another file", `@id("reads") ${permit};`, "permits.cedar:3:1", "own.cedar:1:1 already"],
    [
      "an unknown action",
      '@id("a") permit (principal, action == Action::"read_fil", resource);',
      "own.cedar:1:39",
      "did you mean",
    ],
    [
      "an unknown entity type",
      '@id("a") permit (principal is Runn, action, resource);',
      "own.cedar:1:31",
      "did you mean `Run`",
    ],
    ["an unknown attribute", `@id("a") ${permit} when { context.riks == "SAFE" };`, "own.cedar:1:", "riks"],
    [
      "an attribute that may be absent",
      `@id("a") ${permit} when { context.path.resolved == "" };`,
      "own.cedar:1:",
      "path",
    ],
    ["a wrong type", `@id("a") ${permit} when { context.attempt == "1" };`, "own.cedar:1:", "types"],
    ["a policy that can never apply", `@id("a") ${permit} when { false };`, "own.cedar:1:1", "impossible"],
    [
      "an unknown role",
      '@id("a") permit (principal in Role::"wirte", action, resource);',
      "own.cedar:1:1",
      "did you mean `write`",
    ],
    [
      "an unknown risk",
      `@id("a") ${permit} when { context.risk == "DANGERUS" };`,
      "own.cedar:1:1",
      "did you mean `DANGEROUS`",
    ],
    [
      "an unknown protection",
      `@id("a") ${permit} when { context has path && context.path.protection != "manifests" };`,
      "own.cedar:1:1",
      "did you mean `manifest`",
    ],
    [
      "an unknown state",
      `@id("a") ${permit} when { ["over"].contains(context.runState) };`,
      "own.cedar:1:1",
      "in_progress",
    ],
    ["an unknown effect", `@id("a") ${permit} when { context.effects.contains("run") };`, "own.cedar:1:1", "execute"],
    [
      "an unknown capability",
      `@id("a") @accepts("run_anything, write_proteced") ${permit};`,
      "own.cedar:1:1",
      "did you mean `write_protected`",
    ],
    ["a template", '@id("a") permit (principal == ?principal, action, resource);', "own.cedar:1:", "template"],
    [
      "an advice of more than 200 characters (AUD-30)",
      `@id("a") @advice("${"x".repeat(201)}") ${permit};`,
      "own.cedar:1:1",
      "200 characters",
    ],
    ["an advice with hidden characters (AUD-30)", `@id("a") @advice("x\u202ey") ${permit};`, "own.cedar:1:1", "plain"],
    ["a name of the engine's own", `@id("default_deny") ${permit};`, "own.cedar:1:1", "default_deny"],
    ["a name dressed as the floor's", `@id("floor:x") ${permit};`, "own.cedar:1:1", "fit name"],
    ["bytes that are no text", Uint8Array.of(0xff, 0xfe), "own.cedar", "UTF-8"],
  ])("with %s does not load, and the message names the place", async (_case, text, place, says) => {
    await write("own.cedar", text);

    const refusal = await load().catch((error: unknown) => error);

    expect(refusal).toMatchObject({ code: "POLICY_INVALID", message: expect.stringContaining(`\`${place}`) });
    expect(refusal).toMatchObject({ message: expect.stringContaining(says) });
  });

  it("with a `;` and quotes in strings and comments finds its policies all the same", async () => {
    await write(
      "own.cedar",
      `// it's; "odd"\n@id("a") @advice("x; // y \\" z") forbid (principal, action, resource) // ;\n;\n@id("b") ${permit};`,
    );

    expect((await load()).policyIds).toEqual(expect.arrayContaining(["a", "b"]));
  });

  it.each([
    ["no schema", async () => rm(path.join(folder, "schema.cedarschema")), "schema.cedarschema"],
    [
      "a schema that does not parse",
      () => write("schema.cedarschema", "entity A\nentity B;"),
      "schema.cedarschema:2:1",
    ],
    ["a schema without an action of the catalogue", () => write("schema.cedarschema", "entity A;"), "`read_file`"],
    [
      "no policy",
      async () => {
        await Promise.all(["permits.cedar", "approvals.cedar"].map((file) => rm(path.join(folder, file))));
      },
      "no policy",
    ],
  ])("with %s does not load", async (_case, spoil, says) => {
    await spoil();

    await expect(load()).rejects.toMatchObject({ code: "POLICY_INVALID", message: expect.stringContaining(says) });
  });

  it("that is not there is named", async () => {
    await expect(loadPolicies(policyDeps, `${folder}/none`, fullCatalogue)).rejects.toMatchObject({
      code: "POLICY_INVALID",
    });
  });

  it("whose schema has an action in another group does not load", async () => {
    const catalogue = [{ name: "run_command", group: "read" as const }];

    await expect(loadPolicies(policyDeps, folder, catalogue)).rejects.toThrow("not in the group `read`");
  });
});
