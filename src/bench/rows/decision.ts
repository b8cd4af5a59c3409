import { noRepositoryPolicies, rawEvaluation } from "../../policy/index.ts";
import { alternate, perCall } from "../alternate.ts";
import { atMost, figure, ratio, type Size } from "../figure.ts";
import { readRequest } from "../sample-request.ts";
import type { Row } from "./row.ts";

const sizes: Readonly<Record<Size, { readonly rounds: number; readonly decisions: number }>> = {
  short: { rounds: 1, decisions: 100 },
  bench: { rounds: 50, decisions: 200 },
  soak: { rounds: 500, decisions: 200 },
};

/** `performance.md` §5: floor, facts and digests around a decision cost little beside Cedar itself. */
export const decisionRow: Row = {
  name: "decision",
  title: "a decision beside Cedar's own evaluation of the same request",
  measure: async (place, size, signal) => {
    const { rounds, decisions } = sizes[size];
    const { policies } = await place.runs();
    const request = readRequest(place.deps);
    const evaluate = rawEvaluation(policies, request);
    const { effect } = policies.authorize([request], noRepositoryPolicies);
    if (effect !== "allow" || !evaluate()) throw new Error("the measured request is not allowed");
    const measured = await alternate(
      {
        raw: () => perCall(decisions, () => evaluate()),
        authorize: () => perCall(decisions, () => policies.authorize([request], noRepositoryPolicies)),
      },
      rounds,
      signal,
    );
    return [
      figure(`Cedar alone, ${policies.policyIds.length} policies`, "us", measured.raw),
      figure("authorize", "us", measured.authorize),
      ratio("authorize / Cedar alone", measured.authorize, measured.raw, atMost(1.2)),
    ];
  },
};
