import { describe, expect, it } from "vitest";
import {
  compilePolicies,
  loadOperatorSettings,
  noRepositoryPolicies,
  parseOperatorSettings,
} from "../../src/policy/index.ts";
import { fullCatalogue, loadStandard, policyDeps, readCases, standardFolder } from "../support/policy-requests.ts";

const cases = await readCases(`${standardFolder}/tests`);
const engine = await loadStandard();

describe("the shipped set `standard`", () => {
  it.each(cases)("$name ($file)", ({ request, effect, policyIds, reason }) => {
    const decision = engine.authorize([request], noRepositoryPolicies);

    expect(reason).not.toBe("");
    expect(decision.errors).toEqual([]);
    expect({ effect: decision.effect, policyIds: decision.policyIds }).toEqual({ effect, policyIds });
  });

  it("has a case that decides each of its policies", () => {
    const decided = new Set(cases.flatMap((item) => item.policyIds));

    expect(engine.policyIds.filter((id) => !decided.has(id))).toEqual([]);
  });

  it("has a case that fails without each of its policies or its condition", () => {
    const survivors: string[] = [];
    for (const [file, text] of engine.policyText) {
      if (!file.endsWith(".cedar")) continue;
      for (const mutant of mutantsOf(text)) {
        const mutated = compilePolicies(
          policyDeps,
          new Map([...engine.policyText, [file, mutant.text]]),
          fullCatalogue,
        );
        const killed = cases.some(({ request, effect, policyIds }) => {
          const decision = mutated.authorize([request], noRepositoryPolicies);
          return decision.effect !== effect || decision.policyIds.join() !== policyIds.join();
        });
        if (!killed) survivors.push(mutant.name);
      }
    }

    expect(survivors).toEqual([]);
  }, 60_000);

  it("decides every case the same again from the recorded requests", () => {
    for (const { request } of cases) {
      const first = engine.authorize([request], noRepositoryPolicies);
      const recorded = JSON.parse(JSON.stringify(first.requests));

      expect(engine.authorize(recorded, noRepositoryPolicies)).toEqual(first);
    }
  });

  it("ships the operator settings that stand for absent keys", async () => {
    expect(await loadOperatorSettings(standardFolder)).toEqual(parseOperatorSettings("{}", "operator.json"));
  });

  it("says in at most 200 characters what else to do, in every policy that denies", () => {
    for (const text of engine.policyText.values()) {
      for (const [, policy = ""] of text.matchAll(/(@id[^;]*forbid[^;]*;)/g))
        expect(policy).toMatch(/@advice\("[^"]{20,200}"\)/);
    }
  });
});

/** One mutant a policy: a permit for any role or gone, a forbid without its exception or gone. */
function mutantsOf(text: string): readonly { readonly name: string; readonly text: string }[] {
  const policies = [...text.matchAll(/@id\("([^"]+)"\)[\s\S]*?;\n/g)];
  return policies.map(([policy, id], index) => {
    const weaker = policy.replace(/ in Role::"write"|\s*unless \{[^}]*\}/, "");
    const mutant = weaker === policy || index % 2 === 0 ? "" : weaker;
    return { name: `${id}: ${mutant === "" ? "gone" : "weaker"}`, text: text.replace(policy, mutant) };
  });
}
