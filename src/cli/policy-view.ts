import type { JsonObject } from "../domain/index.ts";
import type {
  CaseDifference,
  CasesReport,
  Detour,
  PolicyCase,
  PolicyEngine,
  PolicyReach,
  Reached,
} from "../policy/index.ts";
import { table } from "./terminal.ts";

/** The report of `policy check` for people; docs/policies.md shows it for the shipped sets. */
export function reachText({ actions, alone, withApproval, never, detours, idle }: PolicyReach): string {
  const standing = Map.groupBy(actions, (one) => one.standing);
  const named = (of: "alone" | "approval" | "denied"): string =>
    (standing.get(of) ?? []).map(({ action }) => action).join(", ") || "none";
  return [
    `goes on alone   ${named("alone")}\n`,
    `asks a person   ${named("approval")}\n`,
    `denied          ${named("denied")}\n`,
    "\nreachable with nobody asked, and the fewest actions that lead there:\n",
    reachedTable(alone),
    ...(withApproval.length === 0 ? [] : ["\nwith a person's yes to what asks for one:\n", reachedTable(withApproval)]),
    ...(never.length === 0 ? [] : [`\nnever: ${never.join(", ")}\n`]),
    ...(detours.length === 0 ? [] : ["\ndenied by name and reachable all the same:\n", ...detours.map(detourText)]),
    ...idle.map(
      ({ policyId, capability }) => `\n\`${policyId}\` accepts ${capability}, and there is no way round to it\n`,
    ),
  ].join("");
}

const reachedTable = (reached: readonly Reached[]): string =>
  table(reached.map(({ capability, chain }) => [`  ${capability}`, chainText(chain)]));

const chainText = (chain: readonly string[]): string => chain.join(" + ");

function detourText({ capability, chain, deniedActions, acceptedBy }: Detour): string {
  const known =
    acceptedBy === null
      ? `NOT ACCEPTED: deny it, or write @accepts("${capability}") at the policy that opens it`
      : `accepted by \`${acceptedBy}\``;
  return `  ${capability}: ${deniedActions.join(", ")} can't do it alone, ${chainText(chain)} can; ${known}\n`;
}

export const reachJson = (engine: PolicyEngine, reach: PolicyReach): JsonObject => ({
  ok: reach.detours.every(({ acceptedBy }) => acceptedBy !== null),
  policies: engine.policyIds,
  policy_set_digest: engine.policySetDigest,
  schema_digest: engine.schemaDigest,
  engine_version: engine.engineVersion,
  floor_version: engine.floorVersion,
  actions: reach.actions.map((one) => ({ ...one })),
  alone: reach.alone.map((one) => ({ ...one })),
  with_approval: reach.withApproval.map((one) => ({ ...one })),
  never: reach.never,
  detours: reach.detours.map(({ capability, chain, deniedActions, acceptedBy }) => ({
    capability,
    chain,
    denied_actions: deniedActions,
    accepted_by: acceptedBy,
  })),
  idle_accepts: reach.idle.map(({ policyId, capability }) => ({ policy_id: policyId, capability })),
});

/** The first difference and how many there are, then what no case decides. */
export function casesText(cases: readonly PolicyCase[], { differences, undecided }: CasesReport): string {
  const [first] = differences;
  const more = differences.length > 1 ? `and ${differences.length - 1} more\n` : "";
  return [
    first === undefined ? `${cases.length} cases hold\n` : `${differenceText(first)}${more}`,
    undecided.length === 0 ? "" : `decided by no case: ${undecided.join(", ")}\n`,
  ].join("");
}

function differenceText({ file, name, reason, expected, got }: CaseDifference): string {
  const errors = got.errors.length === 0 ? "" : ` (${got.errors.join("; ")})`;
  return [
    `${file}: ${name}\n`,
    `  expected  ${expected.effect} by ${expected.policyIds.join(", ")}\n`,
    `  got       ${got.effect} by ${got.policyIds.join(", ")}${errors}\n`,
    `  because   ${reason}\n`,
  ].join("");
}

export const casesJson = (cases: readonly PolicyCase[], { differences, undecided }: CasesReport): JsonObject => ({
  ok: differences.length === 0,
  cases: cases.length,
  differences: differences.map(({ file, name, reason, expected, got }) => ({
    file,
    name,
    reason,
    expected: { effect: expected.effect, policy_ids: expected.policyIds },
    got: { effect: got.effect, policy_ids: got.policyIds, errors: got.errors },
  })),
  undecided,
});
