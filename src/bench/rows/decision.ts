import { createCatalogue } from "../../gateway/index.ts";
import { compilePolicies, noRepositoryPolicies, type PolicyEngine, rawEvaluation } from "../../policy/index.ts";
import { alternate } from "../alternate.ts";
import { atMost, type Figure, figure, median, quantile, ratio, type Size } from "../figure.ts";
import { readRequest } from "../sample-request.ts";
import type { Row } from "./row.ts";

const sizes: Readonly<Record<Size, { readonly rounds: number; readonly decisions: number }>> = {
  short: { rounds: 1, decisions: 100 },
  bench: { rounds: 50, decisions: 667 },
  soak: { rounds: 500, decisions: 667 },
};

/** The shipped set, and sets as large as an operator with many teams may have. */
const policyCounts = [20, 200, 500];
/** Issue and `audit.md` §12: 2 ms. */
const longestUs = 2_000;

/** `performance.md` §5: floor, facts and digests around a decision cost little beside Cedar itself. */
export const decisionRow: Row = {
  name: "decision",
  title: "a decision beside Cedar's own evaluation of the same request",
  measure: async (place, size, signal) => {
    const { policies } = await place.runs();
    const figures: Figure[] = [];
    for (const count of policyCounts) {
      const engine = withPolicies(policies, count);
      const request = readRequest(place.deps);
      const evaluate = rawEvaluation(engine, request);
      const authorize = () => engine.authorize([request], noRepositoryPolicies).effect === "allow";
      if (!(authorize() && evaluate())) throw new Error("the measured request is not allowed");
      const { rounds, decisions } = sizes[size];
      const contenders = { raw: () => timesOf(decisions, evaluate), authorize: () => timesOf(decisions, authorize) };
      const { raw, authorize: ours } = await alternate(contenders, rounds, signal);
      const [rawMedians, ourMedians] = [raw.map(median), ours.map(median)];
      const about = `${engine.policyIds.length} policies`;
      figures.push(
        figure(`${about}: Cedar alone, p50`, "us", rawMedians),
        figure(`${about}: Cedar alone, p99`, "us", [quantile(raw.flat(), 0.99)]),
        figure(`${about}: authorize, p50`, "us", ourMedians),
        figure(`${about}: authorize, p99`, "us", [quantile(ours.flat(), 0.99)], atMost(longestUs)),
        ratio(`${about}: authorize / Cedar alone`, ourMedians, rawMedians, atMost(1.2)),
      );
    }
    return figures;
  },
};

/** Microseconds of each call by itself. */
function timesOf(calls: number, act: () => boolean): readonly number[] {
  return Array.from({ length: calls }, () => {
    const startedAt = performance.now();
    act();
    return (performance.now() - startedAt) * 1000;
  });
}

/** The set with forbids for folders that the request does not touch, up to a number of policies. */
function withPolicies(policies: PolicyEngine, count: number): PolicyEngine {
  const further = Array.from(
    { length: Math.max(0, count - policies.policyIds.length) },
    (_, at) =>
      `@id("team-${at}") forbid (principal, action, resource) when { context has path && context.path.resolved like "teams/${at}/*" };`,
  );
  if (further.length === 0) return policies;
  const texts = new Map([...policies.policyText, ["teams.cedar", further.join("\n")]]);
  const deps = { clock: () => performance.now(), newDecisionId: () => "" as never };
  return compilePolicies(deps, texts, [...createCatalogue().values()]);
}
