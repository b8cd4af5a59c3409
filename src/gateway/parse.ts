import type { z } from "zod";
import {
  canonicalBytes,
  type JsonObject,
  type JsonParsed,
  type JsonTextRefusal,
  type JsonValue,
  jsonSizeLimitBytes,
  type ProposedAction,
  parseStrictJson,
  type Refusal,
} from "../domain/index.ts";
import type { AnyAction, Catalogue } from "./catalogue.ts";
import { closestCall } from "./closest-call.ts";
import { fittingCall } from "./fitting-call.ts";
import { invalidArguments, truncatedCall, unknownTool } from "./refusals.ts";

/** Typed arguments and the effects they name. Made without looking at anything. */
export type ParsedAction = {
  readonly kind: "parsed";
  readonly proposed: ProposedAction;
  readonly action: AnyAction;
  /** After the schema: defaults applied, nothing removed. */
  readonly arguments: JsonObject;
  /** RFC 8785 bytes of the arguments: what every digest and the decision are about. */
  readonly canonical: Uint8Array;
};

/** Why a proposal could not be read, with a code and a place that are safe for the ledger. */
export type UnparsedAction = {
  readonly kind: "refused";
  readonly stage: "parse";
  /** A code of the JSON gate, or the refusal's. */
  readonly code: string;
  /** Where in the arguments, without values. */
  readonly position: string | null;
  readonly refusal: Refusal;
  readonly parsed: null;
};

/**
 * Room within the gate's own limit for what is sealed together with the arguments and obeys the same limit: the facts of
 * the request, defaults, the words of an answer.
 */
const largestArgumentsBytes = jsonSizeLimitBytes - 65_536;

/** JSON to typed arguments and the effects they name. No input or output. */
export function parse(catalogue: Catalogue, proposed: ProposedAction): ParsedAction | UnparsedAction {
  const action = catalogue.get(proposed.tool);
  // The host's own actions have no description: to a model they don't exist.
  if (action === undefined || (action.description === null && proposed.principal.kind !== "system")) {
    const offered = [...catalogue.values()].filter(({ description }) => description !== null);
    const closest = closestCall(proposed.tool, offered, proposed.rawArguments);
    const names = offered.map(({ name }) => name);
    return unparsed("unknown_tool", null, unknownTool(proposed.tool, names, closest));
  }
  const gate = readArguments(proposed.rawArguments);
  if (gate.kind === "refused") return refuseText(proposed, action, gate);
  const fitted = action.Arguments.safeParse(gate.value);
  if (!fitted.success) return refuseArguments(action, gate.value, fitted.error);
  return { kind: "parsed", proposed, action, arguments: fitted.data, canonical: canonicalBytes(fitted.data) };
}

function readArguments(rawArguments: string): JsonParsed {
  if (Buffer.byteLength(rawArguments) > largestArgumentsBytes)
    return { kind: "refused", code: "too_large", position: 0 };
  return parseStrictJson(rawArguments);
}

const unparsed = (code: string, position: string | null, refusal: Refusal): UnparsedAction => ({
  kind: "refused",
  stage: "parse",
  code,
  position,
  refusal,
  parsed: null,
});

function refuseText({ tool, rawArguments }: ProposedAction, action: AnyAction, gate: JsonTextRefusal): UnparsedAction {
  const position = `offset ${gate.position}`;
  if (isCut(rawArguments, gate))
    return unparsed("truncated_call", position, truncatedCall(tool, rawArguments.length, null));
  const expected = `one JSON object (${gate.code} at ${position})`;
  const corrected = fittingCall(action, null);
  return unparsed(gate.code, position, invalidArguments("arguments", rawArguments, expected, corrected));
}

/** What can stand at the end of a JSON text that was cut within a literal, a number or an escape. */
const cutToken =
  /^(|-|\.|[eE][+-]?|t|tr|tru|f|fa|fal|fals|n|nu|nul|\\(u[\da-f]{0,3})?|\\ud[89ab][\da-f]{2}(\\(u[\da-f]{0,3})?)?)$/i;

/** The text ended before the JSON did: whatever the server says, it was cut at the output limit (ACI-65). */
const isCut = (rawArguments: string, { code, position }: JsonTextRefusal): boolean =>
  (code === "not_json" || code === "lone_surrogate") && cutToken.test(rawArguments.trimEnd().slice(position));

function refuseArguments(action: AnyAction, value: JsonValue, error: z.ZodError): UnparsedAction {
  const issue = error.issues[0];
  const unknownKeys = issue?.code === "unrecognized_keys" ? issue.keys : [];
  const path = [...(issue?.path ?? []), ...unknownKeys.slice(0, 1)].map(String);
  const received = path.reduce<unknown>((inner, key) => Object(inner)[key], value);
  const expected = unknownKeys.length > 0 ? "no such field" : (issue?.message ?? "arguments of the tool's schema");
  const field = path.join(".") || "arguments";
  const position = unknownKeys.length > 0 ? "unknown field" : path.join(".");
  const refusal = invalidArguments(field, received, expected, fittingCall(action, value));
  return unparsed("invalid_arguments", position, refusal);
}
