import { describe, expect, it } from "vitest";
import { type Capability, compilePolicies, type DescribedAction, reachOf } from "../../src/policy/index.ts";
import { loadStandard, policyDeps } from "../support/policy-requests.ts";

const { schema } = await loadStandard();

const action = (
  name: string,
  group: DescribedAction["group"],
  ...capabilities: readonly DescribedAction["capabilities"][number][]
): DescribedAction => ({ name, group, risk: "RESTRICTED", capabilities });
const catalogue = [
  action("edit_file", "write", { grants: ["write_code"] }, { grants: ["write_protected"], path: "protected" }),
  action("run_command", "execute", { grants: ["run_anything"] }),
  action(
    "run_tests",
    "execute",
    { grants: ["run_known_command"] },
    { needs: ["write_code"], grants: ["run_anything"] },
  ),
  action(
    "run_setup",
    "execute",
    { grants: ["run_known_command"] },
    {
      needs: ["write_protected"],
      grants: ["network(registries)"],
      input: { network: "registries", changed_dependencies: true },
    },
  ),
  action("push_commit", "publish", { needs: ["run_anything"], grants: ["publish_branch"] }),
];

function reach(...policies: readonly string[]) {
  const text = policies.map((policy, at) => (policy.startsWith("@id") ? policy : `@id("p${at}") ${policy}`)).join("\n");
  const engine = compilePolicies(
    policyDeps,
    new Map([
      ["schema.cedarschema", schema],
      ["own.cedar", text],
    ]),
    [],
  );
  const report = reachOf(engine, catalogue);
  return {
    ...report,
    chainTo: (capability: Capability) => report.alone.find((one) => one.capability === capability)?.chain ?? null,
    standing: (name: string) => report.actions.find((one) => one.action === name)?.standing,
  };
}

const all = "permit (principal, action, resource);";
const noCommands = 'forbid (principal, action == Action::"run_command", resource);';

describe("what policies let a run reach (AUD-32)", () => {
  it("is a way round where the tests run what was edited, with the shortest chain", () => {
    const { detours, chainTo } = reach(all, noCommands);

    expect(detours.map(({ capability }) => capability)).toEqual(["run_anything"]);
    expect(detours[0]).toMatchObject({
      chain: ["edit_file", "run_tests"],
      deniedActions: ["run_command"],
      acceptedBy: null,
    });
    expect(chainTo("publish_branch")).toEqual(["edit_file", "run_tests", "push_commit"]);
  });

  it("is no way round where the action by that name goes on alone, and the shorter chain is told", () => {
    const { detours, chainTo } = reach(all);

    expect(detours).toEqual([]);
    expect(chainTo("run_anything")).toEqual(["run_command"]);
    expect(chainTo("publish_branch")).toEqual(["run_command", "push_commit"]);
  });

  it("is a way round too where a person is asked for the action itself", () => {
    const asked = 'forbid (principal, action == Action::"run_command", resource) unless { context.approved };';

    expect(reach(all, asked).standing("run_command")).toBe("approval");
    expect(reach(all, asked).detours.map(({ capability }) => capability)).toEqual(["run_anything"]);
  });

  it("ends where a step on the way is denied", () => {
    const { detours, never } = reach(all, noCommands, 'forbid (principal, action in Action::"write", resource);');

    expect(detours).toEqual([]);
    expect(never).toEqual(expect.arrayContaining(["run_anything", "write_code", "publish_branch"]));
  });

  it("is accepted by the policy that says so, and an acceptance of nothing is told", () => {
    const accepting = `@id("open") @accepts("run_anything, write_protected") ${all}`;

    expect(reach(accepting, noCommands)).toMatchObject({
      detours: [{ capability: "run_anything", acceptedBy: "open" }],
      idle: [{ policyId: "open", capability: "write_protected" }],
    });
  });

  it.each([
    ["for one path alone", 'permit (principal, action in Action::"write", resource in Folder::"docs");', "alone"],
    ["on facts that nobody knows yet", "permit (principal, action, resource) when { context.attempt < 2 };", "alone"],
    ["for the wrong principal", "permit (principal is System, action, resource);", "denied"],
    ["for another action", 'permit (principal, action == Action::"delete_file", resource);', "denied"],
    ["with a yes alone", "permit (principal, action, resource) when { context.approved };", "approval"],
    ["for another risk", 'permit (principal, action, resource) when { context.risk == "SAFE" };', "denied"],
    [
      "for one of several risks",
      'permit (principal, action, resource) when { ["SAFE", "RESTRICTED"].contains(context.risk) };',
      "alone",
    ],
    ["unless it is a run", "permit (principal, action, resource) unless { principal is Run };", "denied"],
    [
      "by a condition with two branches",
      'permit (principal, action, resource) when { if context.risk == "DANGEROUS" then true else context.approved };',
      "approval",
    ],
    ["or on a yes", "permit (principal, action, resource) when { context.approved || context.attempt == 1 };", "alone"],
    [
      "but for paths that have no protection",
      'permit (principal, action in Action::"write", resource) when { context.path.protection != "none" };',
      "denied",
    ],
  ])("counts an edit permitted %s as it can be at best", (_case, policy, standing) => {
    expect(reach(policy).standing("edit_file")).toBe(standing);
  });

  it("takes a change of a protected path for one of any protection: one that is open is enough", () => {
    const butManifests =
      'forbid (principal, action in Action::"write", resource) when { context.path.protection == "manifest" };';
    const noneAtAll =
      'forbid (principal, action, resource) when { context has path && context.path.protection != "none" };';

    expect(reach(all, butManifests).chainTo("write_protected")).toEqual(["edit_file"]);
    expect(reach(all, noneAtAll).never).toContain("write_protected");
  });

  it("looks at the arguments that a way has", () => {
    const base =
      'forbid (principal, action == Action::"run_setup", resource) when { context.input has changed_dependencies && context.input.changed_dependencies } unless { context.approved };';

    expect(reach(all).chainTo("network(registries)")).toEqual(["edit_file", "run_setup"]);
    expect(reach(all, base).withApproval).toContainEqual({
      capability: "network(registries)",
      chain: ["edit_file", "run_setup"],
    });
    expect(reach(all, base).standing("run_setup")).toBe("alone");
  });
});
