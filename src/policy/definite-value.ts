import type { Expr } from "@cedar-policy/cedar-wasm/nodejs";

/** A value that the facts don't settle. */
export const unknown = Symbol("unknown");
/** An attribute that is certainly not there. */
export const absent = Symbol("absent");

/** A record lists what is known of it: an attribute that it does not name may be there or not. */
export type Facts = { readonly [name: string]: Value };
type Value = string | number | boolean | symbol | readonly Value[] | Facts;

export type Truth = boolean | typeof unknown;

export type Scene = { readonly principalType: string; readonly context: Facts };

/**
 * What a Cedar expression certainly is, given some facts about a request; `unknown` wherever the rest of the request could
 * decide. Never wrong, often silent: of Cedar it knows what policies ask about risk, approval, protection and arguments.
 */
export function definiteTruth(expression: Expr, scene: Scene): Truth {
  const value = knownValue(expression, scene);
  return typeof value === "boolean" ? value : unknown;
}

export const not = (truth: Truth): Truth => (truth === unknown ? unknown : !truth);

export function allOf(truths: readonly Truth[]): Truth {
  if (truths.includes(false)) return false;
  return truths.includes(unknown) ? unknown : true;
}

const anyOf = (truths: readonly Truth[]): Truth => not(allOf(truths.map(not)));

type Pair = { readonly left: Expr; readonly right: Expr };
type Operator = (operand: never, scene: Scene) => Value;

const operators: Readonly<Record<string, Operator>> = {
  Value: (value: unknown): Value => literal(value),
  Var: (name: string, { context }): Value => (name === "context" ? context : unknown),
  Set: (items: readonly Expr[], scene): Value => items.map((item) => knownValue(item, scene)),
  "!": ({ arg }: { readonly arg: Expr }, scene) => not(definiteTruth(arg, scene)),
  "&&": ({ left, right }: Pair, scene) => allOf([definiteTruth(left, scene), definiteTruth(right, scene)]),
  "||": ({ left, right }: Pair, scene) => anyOf([definiteTruth(left, scene), definiteTruth(right, scene)]),
  "==": (pair: Pair, scene) => equality(pair, scene),
  "!=": (pair: Pair, scene) => not(equality(pair, scene)),
  ".": ({ left, attr }: { readonly left: Expr; readonly attr: string }, scene) =>
    attribute(knownValue(left, scene), attr),
  has: ({ left, attr }: { readonly left: Expr; readonly attr: unknown }, scene) =>
    presence(knownValue(left, scene), attr),
  is: ({ left, entity_type: type, in: above }: { left: Expr; entity_type: string; in?: Expr }, scene) => {
    if (!("Var" in left) || left.Var !== "principal") return unknown;
    if (type !== scene.principalType) return false;
    return above === undefined ? true : unknown;
  },
  contains: ({ left, right }: Pair, scene) => membership(knownValue(left, scene), knownValue(right, scene)),
  "if-then-else": (parts: { if: Expr; then: Expr; else: Expr }, scene) => {
    const condition = definiteTruth(parts.if, scene);
    if (condition === unknown) return unknown;
    return knownValue(condition ? parts.then : parts.else, scene);
  },
};

function knownValue(expression: Expr, scene: Scene): Value {
  const [[name, operand] = ["", null]] = Object.entries(expression);
  const operator = operators[name];
  return operator === undefined ? unknown : operator(operand as never, scene);
}

function literal(value: unknown): Value {
  if (Array.isArray(value)) return value.map(literal);
  return isPlain(value as Value) ? (value as string | number | boolean) : unknown;
}

const isPlain = (value: Value): value is string | number | boolean =>
  ["string", "number", "boolean"].includes(typeof value);
const isRecord = (value: Value): value is Facts => typeof value === "object" && !Array.isArray(value);

function equality({ left, right }: Pair, scene: Scene): Truth {
  const [one, other] = [knownValue(left, scene), knownValue(right, scene)];
  return isPlain(one) && isPlain(other) ? one === other : unknown;
}

function attribute(record: Value, name: string): Value {
  if (!isRecord(record)) return unknown;
  const value = record[name] ?? unknown;
  return value === absent ? unknown : value;
}

function presence(record: Value, name: unknown): Truth {
  if (!isRecord(record) || typeof name !== "string" || !(name in record)) return unknown;
  return record[name] !== absent;
}

function membership(set: Value, item: Value): Truth {
  if (!Array.isArray(set) || !isPlain(item)) return unknown;
  if (set.includes(item)) return true;
  return set.every(isPlain) ? false : unknown;
}
