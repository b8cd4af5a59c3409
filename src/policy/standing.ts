import type { EntityUidJson, SchemaJson } from "@cedar-policy/cedar-wasm/nodejs";
import { schemaToJson } from "@cedar-policy/cedar-wasm/nodejs";
import type { CapabilityWay, DescribedAction } from "./capabilities.ts";
import { absent, allOf, definiteTruth, type Facts, not, type Scene, type Truth, unknown } from "./definite-value.ts";
import { protections } from "./path-class.ts";
import type { SourcePolicy } from "./policy-source.ts";

/** How far an action comes under a policy set: by itself, with a person's yes, or not at all. */
export type Standing = "alone" | "approval" | "denied";

type SchemaAction = {
  readonly principals: readonly string[];
  readonly groups: readonly string[];
  readonly hasPath: boolean;
};
export type SchemaActions = ReadonlyMap<string, SchemaAction>;

/** What the schema says of each action, as far as it is needed to tell which policies can be about it. */
export function schemaActions(schema: string): SchemaActions {
  const json = schemaToJson(schema);
  if (json.type === "failure") throw new Error("a schema that was checked does not parse");
  const actions = Object.entries((json.json as SchemaJson<string>)[""]?.actions ?? {});
  return new Map(
    actions.map(([name, { memberOf, appliesTo }]) => {
      const context = appliesTo?.context as { readonly attributes?: object } | undefined;
      const groups = (memberOf ?? []).map(({ id }) => id);
      return [
        name,
        { principals: appliesTo?.principalTypes ?? [], groups, hasPath: "path" in (context?.attributes ?? {}) },
      ];
    }),
  );
}

/**
 * How far one way of an action can come under these policies, in the most favourable case: what a condition on other facts
 * could let through counts as let through. So no way to a capability is missed, and some may be named that need luck.
 */
export function standingOf(
  policies: readonly SourcePolicy[],
  actions: SchemaActions,
  action: DescribedAction,
  way: CapabilityWay,
): Standing {
  const inSchema = actions.get(action.name);
  if (inSchema === undefined) return "denied";
  const passes = (approved: boolean): boolean =>
    inSchema.principals.some((principalType) =>
      factsOf(action, way, inSchema).some((facts) => {
        const scene = { principalType, context: { ...facts, approved } };
        return isPossible(policies, { name: action.name, groups: inSchema.groups }, scene);
      }),
    );
  if (passes(false)) return "alone";
  return passes(true) ? "approval" : "denied";
}

/** The contexts in which this way is used: one, or one for each protection that its path may have. */
function factsOf(
  { risk }: DescribedAction,
  { path, input }: CapabilityWay,
  { hasPath }: SchemaAction,
): readonly Facts[] {
  const common = { input: { ...input } };
  if (path === "protected") {
    return protections.map((protection) => ({ ...common, risk: "DANGEROUS", path: { protection } }));
  }
  return [{ ...common, risk, path: hasPath ? { protection: "none" } : absent }];
}

type Named = { readonly name: string; readonly groups: readonly string[] };

/** A permit that may match, and no forbid that certainly does. */
function isPossible(policies: readonly SourcePolicy[], action: Named, scene: Scene): boolean {
  const truths = policies.map((policy) => ({ effect: policy.effect, truth: truthOf(policy, action, scene) }));
  return (
    truths.some(({ effect, truth }) => effect === "permit" && truth !== false) &&
    !truths.some(({ effect, truth }) => effect === "forbid" && truth === true)
  );
}

function truthOf({ json }: SourcePolicy, action: Named, scene: Scene): Truth {
  const conditions = json.conditions.map(({ kind, body }) => {
    const truth = definiteTruth(body, scene);
    return kind === "when" ? truth : not(truth);
  });
  const { op } = json.resource;
  return allOf([
    ofPrincipal(json.principal, scene),
    ofAction(json.action, action),
    op === "All" ? true : unknown,
    ...conditions,
  ]);
}

function ofPrincipal(constraint: SourcePolicy["json"]["principal"], { principalType }: Scene): Truth {
  if (constraint.op === "All") return true;
  if (constraint.op === "is") {
    if (constraint.entity_type !== principalType) return false;
    return constraint.in === undefined ? true : unknown;
  }
  // `System` stands in nothing: what asks for a role or a person is not about it.
  return principalType === "System" && typeOf("entity" in constraint ? constraint.entity : null) !== "System"
    ? false
    : unknown;
}

function ofAction(constraint: SourcePolicy["json"]["action"], { name, groups }: Named): Truth {
  if (constraint.op === "All") return true;
  const names = constraint.op === "==" ? [name] : [name, ...groups];
  return actionsOf(constraint).some((id) => names.includes(id));
}

/** The ids of the actions and groups that a scope names. */
export function actionsOf(constraint: SourcePolicy["json"]["action"]): readonly string[] {
  if ("entities" in constraint) return constraint.entities.map(idOf);
  return "entity" in constraint ? [idOf(constraint.entity)] : [];
}

const typeAndId = (entity: EntityUidJson): { readonly type: string; readonly id: string } =>
  "__entity" in entity ? entity.__entity : entity;
const idOf = (entity: EntityUidJson): string => typeAndId(entity).id;
const typeOf = (entity: EntityUidJson | null): string | null => (entity === null ? null : typeAndId(entity).type);
