import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  loadOperatorSettings,
  loadPolicies,
  noRepositoryPolicies,
  parseOperatorSettings,
  policyMutants,
  readPolicyCases,
  runPolicyCases,
  survivingMutants,
} from "../../src/policy/index.ts";
import { fullCatalogue, policyDeps, standardFolder } from "../support/policy-requests.ts";

const folderOf = (set: string): string => fileURLToPath(new URL(`../../policies/${set}`, import.meta.url));
const sets = await Promise.all(
  ["standard", "strict", "read-only"].map(async (name) => {
    const folder = folderOf(name);
    const [engine, cases] = [await loadPolicies(policyDeps, folder, fullCatalogue), await readPolicyCases(folder)];
    return { name, folder, engine, cases };
  }),
);

describe.each(sets)("the shipped set `$name` (AUD-29, AUD-33)", ({ folder, engine, cases }) => {
  it("answers each of its own cases as they say, and has one that decides each of its policies", () => {
    expect(runPolicyCases(engine, cases)).toEqual({ differences: [], undecided: [] });
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
  });

  it("has a case that tells it from one mutant of each policy, another kind for each", () => {
    // Where only one action has the argument that a condition asks about, "any action" is the same policy.
    const mutants = policyMutants(engine.schema, engine.policies).filter(({ fault }) => fault !== "any action");
    const byPolicy = [...Map.groupBy(mutants, ({ policyId }) => policyId).values()];
    const chosen = byPolicy.flatMap((its, at) => its[at % its.length] ?? []);

    const survivors = survivingMutants(policyDeps, engine, chosen, cases);

    expect(chosen.length).toBe(engine.policyIds.length);
    expect(survivors.map(({ policyId, fault }) => `${policyId}: ${fault}`)).toEqual([]);
  }, 60_000);

  it("decides every case the same again from the recorded requests", () => {
    for (const { request } of cases) {
      const first = engine.authorize([request], noRepositoryPolicies);
      const recorded = JSON.parse(JSON.stringify(first.requests));

      expect(engine.authorize(recorded, noRepositoryPolicies)).toEqual(first);
    }
  });

  it("has the schema of every set, and settings that load", async () => {
    expect(engine.schema).toBe(await readFile(`${standardFolder}/schema.cedarschema`, "utf8"));
    expect(await loadOperatorSettings(folder)).toEqual(parseOperatorSettings("{}", "operator.json"));
  });

  it("says in at most 200 characters what else to do, in every policy that denies", () => {
    const forbids = engine.policies.filter(({ effect }) => effect === "forbid");

    expect(forbids.filter(({ advice }) => (advice ?? "").length < 20)).toEqual([]);
  });

  it("lets the host set up and verify, with the principal System (AUD-19)", () => {
    const permitted = cases.filter(
      ({ request, effect }) => effect === "allow" && ["run_setup", "run_verification"].includes(request.tool),
    );

    expect(new Set(permitted.map(({ request }) => `${request.principal.kind} ${request.tool}`))).toEqual(
      new Set(["system run_setup", "system run_verification"]),
    );
  });
});
