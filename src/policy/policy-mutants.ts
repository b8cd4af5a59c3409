import {
  type Clause,
  type Expr,
  getValidRequestEnvsPolicy,
  type PolicyJson,
  policyToText,
} from "@cedar-policy/cedar-wasm/nodejs";
import { protections } from "./path-class.ts";
import type { SourcePolicy } from "./policy-source.ts";
import { actionsOf } from "./standing.ts";

/** A policy with one fault in it; `text` null: it is gone. */
export type PolicyMutant = { readonly policyId: string; readonly fault: string; readonly text: string | null };

/**
 * Every fault of the kinds that a tired editor makes (AUD-29), one at a time: a policy gone or turned around, a condition gone
 * or negated, a word, a path, an action, a group or a principal swapped. Cases that can't tell a mutant from its original do
 * not test it.
 */
export function policyMutants(schema: string, policies: readonly SourcePolicy[]): readonly PolicyMutant[] {
  return policies.flatMap(({ id, json }) => [
    { policyId: id, fault: "gone", text: null },
    ...faultsOf(json)
      .filter((faulty) => !isSame(schema, json, faulty.json))
      .map(({ fault, json: faulty }) => ({ policyId: id, fault, text: textOf(faulty) })),
  ]);
}

/** A wider scope that the schema narrows again is no fault: no request can tell the two. */
function isSame(schema: string, json: PolicyJson, faulty: PolicyJson): boolean {
  const scope = (one: PolicyJson): PolicyJson => ({ ...one, conditions: [] });
  const rest = (one: PolicyJson): string => JSON.stringify([one.effect, one.conditions]);
  if (rest(json) !== rest(faulty) || !isWider(json, faulty)) return false;
  const envs = (one: PolicyJson): string => JSON.stringify(getValidRequestEnvsPolicy(scope(one), schema));
  return envs(json) === envs(faulty);
}

const isWider = (json: PolicyJson, faulty: PolicyJson): boolean =>
  (json.action.op !== "All" && faulty.action.op === "All") ||
  (json.principal.op === "is" && json.principal.in === undefined && faulty.principal.op === "All");

type Faulty = { readonly fault: string; readonly json: PolicyJson };

function faultsOf(json: PolicyJson): readonly Faulty[] {
  return [
    { fault: "effect", json: { ...json, effect: json.effect === "permit" ? "forbid" : "permit" } },
    ...principalFaults(json),
    ...actionFaults(json),
    ...conditionFaults(json),
  ];
}

function textOf(json: PolicyJson): string {
  const written = policyToText(json);
  if (written.type === "failure") throw new Error(`a mutant can't be written: ${written.errors[0]?.message ?? ""}`);
  return written.text;
}

const swap = <Name extends string>(name: Name, pairs: Readonly<Record<string, string>>): string => pairs[name] ?? name;

/** `Run in Role::"write"`: for anybody, for the wrong kind, for a role that is too low or too high. */
function principalFaults(json: PolicyJson): readonly Faulty[] {
  const { principal } = json;
  if (principal.op !== "is") return [];
  const any = { fault: "any principal", json: { ...json, principal: { op: "All" } as const } };
  const type = swap(principal.entity_type, { Run: "System", System: "Run", User: "Run" });
  const other = {
    fault: `principal is ${type}`,
    json: { ...json, principal: { op: "is", entity_type: type } as const },
  };
  if (principal.in === undefined || !("entity" in principal.in)) return [any, other];
  const kind = { op: "is", entity_type: principal.entity_type } as const;
  const inRole = (id: string): Faulty => {
    const role = { entity: { type: "Role", id } };
    return { fault: `in role ${id}`, json: { ...json, principal: { ...kind, in: role } } };
  };
  const now = JSON.stringify(principal.in.entity);
  const roles = ["read", "write", "maintain"].filter((role) => !now.includes(`"${role}"`));
  return [any, other, { fault: "in any role", json: { ...json, principal: kind } }, ...roles.map(inRole)];
}

const otherAction: Readonly<Record<string, string>> = {
  read: "write",
  write: "execute",
  execute: "publish",
  publish: "read",
  run_command: "run_tests",
  run_tests: "run_command",
  run_setup: "run_verification",
  run_verification: "run_setup",
  create_file: "edit_file",
  edit_file: "create_file",
  push_commit: "delete_branch",
  create_comment: "update_comment",
  update_comment: "create_comment",
  add_reaction: "add_label",
  approve: "add_reaction",
};

function actionFaults(json: PolicyJson): readonly Faulty[] {
  const { action } = json;
  if (action.op === "All") return [];
  const ids = actionsOf(action);
  const within = (fault: string, names: readonly string[]): Faulty => {
    const entities = names.map((id) => ({ type: "Action", id }));
    return { fault, json: { ...json, action: { op: "in", entities } } };
  };
  return [
    { fault: "any action", json: { ...json, action: { op: "All" } } },
    ...ids.flatMap((id) => {
      const others = ids.filter((one) => one !== id);
      const swapped = swap(id, otherAction);
      return [
        ...(swapped === id ? [] : [within(`${id} -> ${swapped}`, [...others, swapped])]),
        ...(others.length === 0 ? [] : [within(`without ${id}`, others)]),
      ];
    }),
  ];
}

function conditionFaults(json: PolicyJson): readonly Faulty[] {
  return json.conditions.flatMap((clause, at) => {
    const without = (replacement: readonly Clause[]): PolicyJson => ({
      ...json,
      conditions: json.conditions.flatMap((one, place) => (place === at ? replacement : [one])),
    });
    const negated = clause.kind === "when" ? "unless" : "when";
    return [
      { fault: `without its \`${clause.kind}\``, json: without([]) },
      { fault: `\`${clause.kind}\` -> \`${negated}\``, json: without([{ kind: negated, body: clause.body }]) },
      ...expressionFaults(clause.body).map(({ fault, body }) => ({
        fault,
        json: without([{ kind: clause.kind, body }]),
      })),
    ];
  });
}

type FaultyExpression = { readonly fault: string; readonly body: Expr };

const otherWord: Readonly<Record<string, string>> = {
  DANGEROUS: "RESTRICTED",
  RESTRICTED: "DANGEROUS",
  SAFE: "RESTRICTED",
  completed: "in_progress",
  confused: "eyes",
  ...Object.fromEntries(protections.map((name, at) => [name, protections[(at + 1) % protections.length] ?? name])),
};
const otherOperator: Readonly<Record<string, string>> = { "&&": "||", "||": "&&", "==": "!=", "!=": "==" };

/** Each operand gone, each operator turned, each word swapped, at any depth. */
function expressionFaults(expression: Expr): readonly FaultyExpression[] {
  const [[operator, operand] = ["", null]] = Object.entries(expression);
  if (operator === "Value") {
    const word = typeof operand === "string" ? otherWord[operand] : undefined;
    return word === undefined ? [] : [{ fault: `${String(operand)} -> ${word}`, body: { Value: word } }];
  }
  if (typeof operand !== "object" || operand === null || !("left" in operand)) return [];
  const { left, right } = operand as { readonly left: Expr; readonly right?: Expr };
  const turned = otherOperator[operator];
  const isJoin = operator === "&&" || operator === "||";
  const inside = (side: "left" | "right", part: Expr | undefined): readonly FaultyExpression[] =>
    part === undefined
      ? []
      : expressionFaults(part).map(({ fault, body }) => ({
          fault,
          body: { [operator]: { ...operand, [side]: body } } as unknown as Expr,
        }));
  return [
    ...(turned === undefined
      ? []
      : [{ fault: `\`${operator}\` -> \`${turned}\``, body: { [turned]: operand } as unknown as Expr }]),
    ...(isJoin && right !== undefined
      ? [
          { fault: "without its first part", body: right },
          { fault: "without its second part", body: left },
        ]
      : []),
    ...inside("left", left),
    ...inside("right", right),
  ];
}
