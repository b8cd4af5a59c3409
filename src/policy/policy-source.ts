import {
  checkParsePolicySet,
  type DetailedError,
  type PolicyJson,
  policyToJson,
  validate,
} from "@cedar-policy/cedar-wasm/nodejs";
import type { Capability } from "./capabilities.ts";
import { splitAccepts, unknownName } from "./known-names.ts";

/** One policy of a file, with the place where it begins. */
export type SourcePolicy = {
  readonly id: string;
  readonly effect: "permit" | "forbid";
  readonly advice: string | null;
  /** What the operator knows to be reachable by a detour (AUD-32). */
  readonly accepts: readonly Capability[];
  readonly text: string;
  readonly json: PolicyJson;
  readonly place: Place;
};
/** From 1; columns count code points. */
export type Place = { readonly line: number; readonly column: number };
export type PolicyProblem = Place & { readonly message: string; readonly help: string | null };

export type ReadPolicies =
  | { readonly kind: "read"; readonly policies: readonly SourcePolicy[] }
  | { readonly kind: "refused"; readonly problem: PolicyProblem };

/** AUD-30: advice is plain text of this length at most. */
const longestAdvice = 200;

/**
 * Reads one text of Cedar policies: a parse error, a template, a missing `@id` or an unfit `@advice` refuse it with the place.
 * Names and types are for `findMismatch`, repeated ids for the caller, who sees all texts.
 */
export function readPolicies(text: string): ReadPolicies {
  const parsed = checkParsePolicySet({ staticPolicies: text });
  if (parsed.type === "failure") return refuse(problemAt(text, parsed.errors[0]));
  const policies: SourcePolicy[] = [];
  for (const { start, end } of slicePolicies(text)) {
    const slice = text.slice(start, end);
    const place = placeAt(text, start);
    const json = policyToJson(slice);
    if (json.type === "failure") return refuse(problemAt(slice, json.errors[0], place));
    const policy = describePolicy(json.json, slice, place);
    if ("message" in policy) return refuse(policy);
    policies.push(policy);
  }
  return { kind: "read", policies };
}

/**
 * The first policy that does not fit the schema: unknown names, wrong types, and whatever Cedar warns about, such as a policy
 * that can never apply. One call for all policies, since each call reads the schema anew.
 */
export function findMismatch<Policy extends SourcePolicy>(
  policies: readonly Policy[],
  schema: string,
): { readonly policy: Policy; readonly problem: PolicyProblem } | null {
  const staticPolicies = Object.fromEntries(policies.map(({ text }, index) => [`${index}`, text]));
  const checked = validate({ schema, policies: { staticPolicies } });
  if (checked.type === "failure") throw new Error("policies that were read one by one can't be read together");
  const finding = checked.validationErrors[0] ?? checked.validationWarnings[0];
  if (finding === undefined) return null;
  const found = policies[Number(finding.policyId)];
  if (found === undefined) throw new Error("Cedar found fault with a policy that it was not given");
  const problem = problemAt(found.text, finding.error, found.place);
  return { policy: found, problem: { ...problem, message: problem.message.replace(/^for policy `\d+`, /, "") } };
}

const refuse = (problem: PolicyProblem): ReadPolicies => ({ kind: "refused", problem });

function describePolicy(json: PolicyJson, text: string, place: Place): SourcePolicy | PolicyProblem {
  const { id = "", advice = null } = json.annotations ?? {};
  if (id === "") return { ...place, message: "a policy without `@id`", help: 'write `@id("a-name")` before it' };
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(id)) {
    return {
      ...place,
      message: `\`@id("${id}")\` is no fit name`,
      help: "use up to 100 letters, digits, `.`, `_` and `-`",
    };
  }
  if (["default_deny", "policy_error"].includes(id)) {
    return { ...place, message: `\`${id}\` is a name of the engine's own`, help: "choose another `@id`" };
  }
  if (advice !== null && ([...advice].length > longestAdvice || /[\p{Cc}\p{Cf}]/u.test(advice))) {
    return {
      ...place,
      message: `the advice of \`${id}\` is no plain line`,
      help: `use ${longestAdvice} characters at most`,
    };
  }
  const misspelt = unknownName(json);
  if (misspelt !== null) {
    return { ...place, message: `unknown ${misspelt.what} \`${misspelt.name}\` in \`${id}\``, help: misspelt.help };
  }
  const accepts = splitAccepts(json.annotations?.["accepts"]) as readonly Capability[];
  return { id, effect: json.effect, advice, accepts, text, json, place };
}

/** Where each policy begins and ends. In Cedar a `;` outside strings and comments ends a policy and is nothing else. */
function slicePolicies(text: string): readonly { readonly start: number; readonly end: number }[] {
  const slices: { start: number; end: number }[] = [];
  let start = -1;
  for (const token of text.matchAll(/\/\/[^\n]*|"(?:[^"\\]|\\[\s\S])*"|;|[^\s";/]+|\//g)) {
    if (token[0].startsWith("//")) continue;
    if (start < 0) start = token.index;
    if (token[0] !== ";") continue;
    slices.push({ start, end: token.index + 1 });
    start = -1;
  }
  return slices;
}

/** Cedar's message at its place; offsets are bytes of UTF-8. `within` is where the text itself begins. */
export function problemAt(
  text: string,
  error: DetailedError | undefined,
  within: Place = { line: 1, column: 1 },
): PolicyProblem {
  const location = error?.sourceLocations?.[0];
  const before = Buffer.from(text, "utf8")
    .subarray(0, location?.start ?? 0)
    .toString("utf8");
  const place = placeAt(before, before.length);
  const label = location?.label ?? null;
  return {
    line: place.line + within.line - 1,
    column: place.line === 1 ? place.column + within.column - 1 : place.column,
    message: (error?.message ?? "no reason given").replace(
      /^failed to parse (policies|policy|schema) from string: /,
      "",
    ),
    help: error?.help ?? label,
  };
}

function placeAt(text: string, index: number): Place {
  const lines = text.slice(0, index).split("\n");
  return { line: lines.length, column: [...(lines.at(-1) ?? "")].length + 1 };
}
