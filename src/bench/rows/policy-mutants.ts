import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { canonicalBytes } from "../../domain/index.ts";
import { createCatalogue } from "../../gateway/index.ts";
import {
  type AuthorizationRequest,
  compileRecordedPolicies,
  loadPolicies,
  noRepositoryPolicies,
  type PolicyCase,
  type PolicyDeps,
  type PolicyEngine,
  policyMutants,
  readPolicyCases,
  survivingMutants,
} from "../../policy/index.ts";
import { equal, type Figure, figure, type Goal, type Size } from "../figure.ts";
import type { Row } from "./row.ts";

const sets = ["standard", "strict", "read-only"] as const;
const decisionsMade: Readonly<Record<Size, number>> = { short: 100, bench: 100_000, soak: 100_000 };
const atLeastKilled: Goal = { kind: "at_least", value: 95, isExact: true };

/** `audit.md` §12: what the shipped sets' own cases find, and whether a decision can be made again from its record. */
export const policyMutantsRow: Row = {
  name: "policy-mutants",
  title: "mutants of the shipped policies that their cases tell, and decisions that their record gives again",
  measure: async ({ deps, settings }, size, signal) => {
    const policyDeps: PolicyDeps = {
      clock: () => 0,
      newDecisionId: () => "" as ReturnType<PolicyDeps["newDecisionId"]>,
    };
    const catalogue = [...createCatalogue().values()];
    const figures: Figure[] = [];
    for (const set of sets) {
      const folder = join(dirname(settings.program), "../policies", set);
      const engine = await loadPolicies(policyDeps, folder, catalogue);
      const cases = (await readPolicyCases(folder)).filter(({ request }) => engine.tools.has(request.tool));
      const mutants = mutantsFor(engine, size);
      const survivors: (typeof mutants)[number][] = [];
      deps.progress(`${set}: ${mutants.length} mutants`);
      for (const mutant of mutants) {
        await breathe(signal);
        survivors.push(...survivingMutants(policyDeps, engine, [mutant], cases));
      }
      for (const { policyId, fault } of survivors) deps.progress(`${set}: no case tells \`${policyId}\` (${fault})`);
      const killed = (100 * (mutants.length - survivors.length)) / mutants.length;
      figures.push(figure(`${set}: killed of ${mutants.length} mutants`, "%", [killed], atLeastKilled));
      const made = Math.ceil(decisionsMade[size] / sets.length);
      const recorded = compileRecordedPolicies(policyDeps, engine.policyText, catalogue);
      figures.push(
        figure(
          `${set}: decisions made again`,
          "%",
          [
            await shareAgain(
              { engine, recorded, cases, made, tell: (line) => deps.progress(`${set}: ${line}`) },
              signal,
            ),
          ],
          equal(100),
        ),
      );
    }
    return figures;
  },
};

/** In the shortest size one of each policy, of another kind for each. */
function mutantsFor(engine: PolicyEngine, size: Size): ReturnType<typeof policyMutants> {
  const all = policyMutants(engine.schema, engine.policies);
  if (size !== "short") return all;
  const telling = all.filter(({ fault }) => fault !== "any action"); // the same policy where one action alone has the argument
  const byPolicy = [...Map.groupBy(telling, ({ policyId }) => policyId).values()];
  return byPolicy.flatMap((its, at) => its[at % its.length] ?? []);
}

type Again = {
  readonly engine: PolicyEngine;
  readonly recorded: PolicyEngine;
  readonly cases: readonly PolicyCase[];
  readonly made: number;
  /** Minutes go by: that it goes on is to be seen. */
  readonly tell: (line: string) => void;
};

const toldEvery = 5_000;

async function shareAgain({ engine, recorded, cases, made, tell }: Again, signal: AbortSignal): Promise<number> {
  let same = 0;
  for (let at = 0; at < made; at += 1) {
    const request = cases[at % cases.length]?.request;
    if (request === undefined) break;
    if (at % 500 === 0) await breathe(signal);
    if (at % toldEvery === 0) tell(`${at} of ${made} decisions made again`);
    const first = engine.authorize([{ ...request, attempt: Math.floor(at / cases.length) }], noRepositoryPolicies);
    const bytes = canonicalBytes(first.requests);
    const read = JSON.parse(new TextDecoder().decode(bytes)) as readonly AuthorizationRequest[];
    const again = recorded.authorize(read, noRepositoryPolicies);
    if (JSON.stringify(again) === JSON.stringify({ ...first, requests: again.requests })) {
      if (Buffer.compare(canonicalBytes(again.requests), bytes) === 0) same += 1;
    }
  }
  return (100 * same) / made;
}

/** Decisions are made in one go: a signal is heard between them alone. */
async function breathe(signal: AbortSignal): Promise<void> {
  await setImmediate();
  signal.throwIfAborted();
}
