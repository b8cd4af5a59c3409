import { type Capability, type CapabilityWay, capabilities, type DescribedAction } from "./capabilities.ts";
import type { SourcePolicy } from "./policy-source.ts";
import { type Standing, schemaActions, standingOf } from "./standing.ts";

/** A capability, and the fewest actions that lead to it, in order. */
export type Reached = { readonly capability: Capability; readonly chain: readonly string[] };

/** A capability whose own action no policy lets go on alone, and that others give all the same. */
export type Detour = Reached & {
  readonly deniedActions: readonly string[];
  /** The policy with `@accepts` for it; null: the operator may not know. */
  readonly acceptedBy: string | null;
};

/** What a policy set comes to, in several steps (AUD-32). */
export type PolicyReach = {
  /** Each action in its ordinary use. */
  readonly actions: readonly { readonly action: string; readonly standing: Standing }[];
  /** What a run can bring about with nobody asked. */
  readonly alone: readonly Reached[];
  /** What more it can with a person's yes to the actions that ask for one. */
  readonly withApproval: readonly Reached[];
  readonly never: readonly Capability[];
  readonly detours: readonly Detour[];
  /** `@accepts` of what is no detour: the policy says more than is so. */
  readonly idle: readonly { readonly policyId: string; readonly capability: Capability }[];
};

type UsableWay = { readonly action: string; readonly way: CapabilityWay; readonly standing: Standing };

/** The fixed point over what each action needs and grants, under these policies. Pure. */
export function reachOf(
  set: { readonly schema: string; readonly policies: readonly SourcePolicy[] },
  catalogue: readonly DescribedAction[],
): PolicyReach {
  const actions = schemaActions(set.schema);
  const ways = catalogue.flatMap((action): readonly UsableWay[] =>
    action.capabilities.map((way) => ({
      action: action.name,
      way,
      standing: standingOf(set.policies, actions, action, way),
    })),
  );
  const alone = fixedPoint(ways.filter(({ standing }) => standing === "alone"));
  const approved = fixedPoint(ways.filter(({ standing }) => standing !== "denied"));
  const detours = detoursOf(ways, alone, set.policies);
  const accepted = set.policies.flatMap(({ id, accepts }) =>
    accepts.map((capability) => ({ policyId: id, capability })),
  );
  return {
    actions: catalogue.map((action) => ({
      action: action.name,
      standing: standingOf(set.policies, actions, action, action.capabilities[0] ?? ordinary),
    })),
    alone: listed(alone),
    withApproval: listed(approved).filter(({ capability }) => !alone.has(capability)),
    never: capabilities.filter((capability) => !approved.has(capability)),
    detours,
    idle: accepted.filter(({ capability }) => !detours.some((detour) => detour.capability === capability)),
  };
}

/** Of an action that gives nothing: it is looked at all the same. */
const ordinary: CapabilityWay = { grants: ["read_code"] };

type Chains = ReadonlyMap<Capability, readonly string[]>;

/** Chains only get shorter, so that this ends; the first of two of one length is kept. */
function fixedPoint(ways: readonly UsableWay[]): Chains {
  const chains = new Map<Capability, readonly string[]>();
  while (ways.filter((way) => takeWay(chains, way)).length > 0);
  return chains;
}

/** Whether this way leads anywhere that was not known, or was further. */
function takeWay(chains: Map<Capability, readonly string[]>, { action, way }: UsableWay): boolean {
  const needs = (way.needs ?? []).map((need) => chains.get(need));
  if (needs.includes(undefined)) return false;
  const chain = [...new Set([...needs.flatMap((actions) => actions ?? []), action])];
  const isShorter = (capability: Capability): boolean =>
    chain.length < (chains.get(capability)?.length ?? Number.POSITIVE_INFINITY);
  const gained = way.grants.filter(isShorter);
  for (const capability of gained) chains.set(capability, chain);
  return gained.length > 0;
}

const listed = (chains: Chains): readonly Reached[] =>
  capabilities.flatMap((capability) => {
    const chain = chains.get(capability);
    return chain === undefined ? [] : [{ capability, chain }];
  });

function detoursOf(ways: readonly UsableWay[], alone: Chains, policies: readonly SourcePolicy[]): readonly Detour[] {
  return listed(alone).flatMap(({ capability, chain }): readonly Detour[] => {
    const byName = ways.filter(({ way }) => way.needs === undefined && way.grants[0] === capability);
    if (byName.length === 0 || byName.some(({ standing }) => standing === "alone")) return [];
    const acceptedBy = policies.find(({ accepts }) => accepts.includes(capability))?.id ?? null;
    return [{ capability, chain, deniedActions: [...new Set(byName.map(({ action }) => action))], acceptedBy }];
  });
}
