import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DecisionEffect, Permission } from "../../src/domain/index.ts";
import {
  type AuthorizationRequest,
  compilePolicies,
  compileRepositoryPolicies,
  noRepositoryPolicies,
} from "../../src/policy/index.ts";
import { aPath, aRequest, fullCatalogue, loadStandard, policyDeps } from "../support/policy-requests.ts";

const standard = await loadStandard();
const compile = (policies: readonly string[]) =>
  compilePolicies(
    policyDeps,
    new Map([
      ["schema.cedarschema", standard.schema],
      ["own.cedar", policies.join("\n")],
    ]),
    fullCatalogue,
  );

const requests: fc.Arbitrary<AuthorizationRequest> = fc
  .record({
    permission: fc.constantFrom<Permission>("admin", "maintain", "write", "read", "none"),
    approved: fc.boolean(),
    attempt: fc.nat(2),
    path: fc.constantFrom("src/a.ts", "package.json", ".github/x", ".github/workflows/x", "docs/a.md", ".git/x"),
    tool: fc.constantFrom("edit_file", "delete_file", "create_file", "read_file", "unheard_of"),
    risk: fc.constantFrom("SAFE", "RESTRICTED", "DANGEROUS"),
  })
  .map(({ permission, path, tool, ...same }) => {
    const more = tool === "edit_file" ? { edits: [] } : {};
    const input = { path, ...more, ...(tool === "create_file" ? { content: "" } : {}) };
    const kind = tool === "read_file" ? "read_path" : "write_path";
    return aRequest({
      ...same,
      tool,
      requestedBy: { id: "1", login: "a", permission },
      path: aPath(path, { kind }),
      input,
    });
  });

const conditions = fc.constantFrom(
  "",
  "when { context.approved }",
  "unless { context.approved }",
  'when { context.risk == "DANGEROUS" }',
  "when { context.attempt == 1 }",
  'when { context has path && context.path.resolved like "src/*" }',
  'when { principal in Role::"maintain" }',
  "when { context.attempt + 9223372036854775806 > 0 }", // overflows from attempt 2 on
);
const scopes = fc.constantFrom('action in Action::"write"', "action", 'action == Action::"read_file"');
const policy = (effect: "permit" | "forbid") =>
  fc
    .tuple(scopes, conditions)
    .map(([scope, condition]) => `${effect} (principal is Run, ${scope}, resource) ${condition};`);
const named = (texts: readonly string[], prefix: string) =>
  texts.map((text, index) => `@id("${prefix}${index}") ${text}`);
const sets = fc
  .tuple(fc.array(policy("permit"), { minLength: 1, maxLength: 3 }), fc.array(policy("forbid"), { maxLength: 2 }))
  .map(([permits, forbids]) => [...named(permits, "permit"), ...named(forbids, "forbid")]);

const width: Readonly<Record<DecisionEffect, number>> = { deny: 0, require_approval: 1, allow: 2 };
const runs = { numRuns: 6 };

describe("whatever the policies are", () => {
  it("nothing is allowed without a permit that matched, and nothing after an error", () => {
    fc.assert(
      fc.property(sets, fc.array(requests, { minLength: 30, maxLength: 30 }), (set, asked) => {
        const engine = compile(set);
        for (const request of asked) {
          const decision = engine.authorize([request], noRepositoryPolicies);
          const permitted = decision.policyIds.length > 0 && decision.policyIds.every((id) => id.startsWith("permit"));

          expect(decision.effect !== "allow" || (permitted && decision.errors.length === 0)).toBe(true);
          expect(decision.policyIds).not.toEqual([]);
        }
      }),
      runs,
    );
  }, 60_000);

  it("a further forbid, the operator's or the repository's, never widens", () => {
    fc.assert(
      fc.property(sets, policy("forbid"), fc.array(requests, { minLength: 30, maxLength: 30 }), (set, text, asked) => {
        const [engine, narrower] = [compile(set), compile([...set, `@id("further") ${text}`])];
        const repository = compileRepositoryPolicies(engine, [{ text: `@id("further") ${text}`, line: 1 }]);
        for (const request of asked) {
          const before = width[engine.authorize([request], noRepositoryPolicies).effect];

          expect(width[narrower.authorize([request], noRepositoryPolicies).effect]).toBeLessThanOrEqual(before);
          expect(width[engine.authorize([request], repository).effect]).toBeLessThanOrEqual(before);
        }
      }),
      runs,
    );
  }, 60_000);

  it("their order does not matter, and the same question has the same answer", () => {
    fc.assert(
      fc.property(sets, fc.array(requests, { minLength: 30, maxLength: 30 }), (set, asked) => {
        const [engine, turned] = [compile(set), compile([...set].reverse())];
        for (const request of asked) {
          const { policySetDigest: _one, ...first } = engine.authorize([request], noRepositoryPolicies);
          const { policySetDigest: _two, ...second } = turned.authorize([request], noRepositoryPolicies);

          expect(second).toEqual(first);
          expect(engine.authorize([request], noRepositoryPolicies)).toMatchObject(first);
        }
      }),
      runs,
    );
  }, 60_000);
});
