import type { PolicyJson } from "@cedar-policy/cedar-wasm/nodejs";
import { editDistance } from "../domain/index.ts";
import { capabilities } from "./capabilities.ts";
import { protections } from "./path-class.ts";

/** A name that Cedar takes, since to it it is an id or a text, and that no request will ever have. */
export type UnknownName = { readonly what: string; readonly name: string; readonly help: string };

const roles = ["admin", "maintain", "write", "read", "none"];

/** Facts of a request that are words of ours: the attribute's name is enough to know them by. */
const words: Readonly<Record<string, readonly string[]>> = {
  risk: ["SAFE", "RESTRICTED", "DANGEROUS"],
  permission: roles,
  runState: ["queued", "in_progress", "waiting", "completed"],
  class: ["file", "folder", "absent", "other"],
  protection: [...protections, "none"],
  effects: ["read_path", "write_path", "create_path", "delete_path", "search_tree", "execute", "finish", "publish"],
};

/**
 * The first misspelt name of a policy that Cedar's validator can't see: a role, a capability in `@accepts`, or a word that a
 * fact of the request is compared with. It would silently match nothing (AUD-18).
 */
export function unknownName({ annotations, ...policy }: PolicyJson): UnknownName | null {
  const accepted = splitAccepts(annotations?.["accepts"]);
  return unlisted("capability", accepted, capabilities) ?? unknownInside(policy);
}

/** `@accepts("run_anything, write_protected")` names each capability that the operator knows of. */
export const splitAccepts = (text: string | null | undefined): readonly string[] =>
  text === undefined || text === null ? [] : text.split(",").map((name) => name.trim());

function unknownInside(value: unknown): UnknownName | null {
  if (typeof value !== "object" || value === null) return null;
  const found = unknownRole(value) ?? unknownWord(value);
  if (found !== null) return found;
  for (const part of Object.values(value)) {
    const inside = unknownInside(part);
    if (inside !== null) return inside;
  }
  return null;
}

const unknownRole = ({ type, id }: { type?: unknown; id?: unknown }): UnknownName | null =>
  type === "Role" && typeof id === "string" ? unlisted("role", [id], roles) : null;

function unknownWord(expression: object): UnknownName | null {
  const [[operator, operand] = ["", null]] = Object.entries(expression);
  if (!["==", "!=", "contains", "containsAny", "containsAll"].includes(operator)) return null;
  const { left, right } = operand as { readonly left: unknown; readonly right: unknown };
  const attribute = attributeOf(left) ?? attributeOf(right);
  const known = attribute === null ? undefined : words[attribute];
  return known === undefined ? null : unlisted(attribute ?? "", [...textsOf(left), ...textsOf(right)], known);
}

/** `risk` of `context.risk`, and nothing of `context.input.…`: arguments are not ours to know. */
function attributeOf(expression: unknown): string | null {
  const access = (expression as { "."?: { readonly left: unknown; readonly attr: string } } | null)?.["."];
  if (access === undefined) return null;
  return JSON.stringify(access.left).includes('"input"') ? null : access.attr;
}

function textsOf(expression: unknown): readonly string[] {
  const { Value: value, Set: items } = (expression ?? {}) as {
    readonly Value?: unknown;
    readonly Set?: readonly unknown[];
  };
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.filter((item) => typeof item === "string");
  return items?.flatMap(textsOf) ?? [];
}

function unlisted(what: string, names: readonly string[], known: readonly string[]): UnknownName | null {
  const name = names.find((one) => !known.includes(one));
  if (name === undefined) return null;
  const near = closest(name, known);
  return { what, name, help: near === null ? `use one of ${known.join(", ")}` : `did you mean \`${near}\`?` };
}

/** The nearest name, whatever the case, within two letters or a third of them; null where none is near. */
function closest(name: string, known: readonly string[]): string | null {
  const ranked = known
    .map((one) => ({ one, distance: editDistance(name.toLowerCase(), one.toLowerCase()) }))
    .filter(({ one, distance }) => distance <= Math.max(2, Math.floor(one.length / 3)))
    .sort((first, second) => first.distance - second.distance);
  return ranked[0]?.one ?? null;
}
