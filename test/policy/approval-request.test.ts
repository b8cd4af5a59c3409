import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { Permission } from "../../src/domain/index.ts";
import { approvalRequest, loadPolicies, noRepositoryPolicies } from "../../src/policy/index.ts";
import { aRequest, loadStandard, policyDeps } from "../support/policy-requests.ts";

const folder = fileURLToPath(new URL("../../policies/strict", import.meta.url));
// As the service loads it: no catalogue has an action `approve`, and the set knows it all the same.
const [standard, strict] = [await loadStandard(), await loadPolicies(policyDeps, folder, [])];

const { runId, repository, budgetLeft } = aRequest();
const requester = { id: "1001", login: "ada", permission: "write" } as const;
const answeredBy = (id: string, permission: Permission) =>
  approvalRequest({
    person: { id, login: "somebody", permission },
    question: { approvalId: "a1", tool: "run_command", risk: "RESTRICTED" },
    run: { runId, requester, repository, runState: "waiting", attempt: 0, budgetLeft },
  });
const decided = (engine: typeof standard, id: string, permission: Permission) => {
  const { effect, policyIds } = engine.authorize([answeredBy(id, permission)], noRepositoryPolicies);
  return `${effect} by ${policyIds.join()}`;
};

describe("a person's answer as a request (AUD-37)", () => {
  it.each<[Permission, string]>([
    ["admin", "allow by answers"],
    ["maintain", "allow by answers"],
    ["write", "allow by answers"],
    ["read", "deny by default_deny"],
    ["none", "deny by default_deny"],
  ])("of somebody with `%s` is decided by their role, in both sets", (permission, answer) => {
    expect(decided(standard, "7", permission)).toBe(answer);
    expect(decided(strict, "7", permission)).toBe(answer);
  });

  it("of the requester counts in `standard`, and is forbidden by `not-the-requester` in `strict`", () => {
    expect(decided(standard, "1001", "write")).toBe("allow by answers");
    expect(decided(strict, "1001", "admin")).toBe("deny by not-the-requester");
  });

  it("of the requester goes by the permission that they have now", () => {
    expect(decided(standard, "1001", "admin")).toBe("allow by answers");
    expect(decided(standard, "1001", "read")).toBe("deny by default_deny");
  });

  it("is decided the same again from its record (AUD-31)", () => {
    const first = strict.authorize([answeredBy("7", "write")], noRepositoryPolicies);
    const recorded = JSON.parse(JSON.stringify(first.requests));

    expect(strict.authorize(recorded, noRepositoryPolicies)).toEqual(first);
  });
});
