import type { z } from "zod";
import {
  canonicalBytes,
  type JsonObject,
  type JsonValue,
  type ProposedAction,
  parseStrictJson,
  type Refusal,
} from "../domain/index.ts";
import type { AnyAction, Catalogue } from "./catalogue.ts";
import { closestCall } from "./closest-call.ts";
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

/** JSON to typed arguments and the effects they name. No input or output. */
export function parse(catalogue: Catalogue, proposed: ProposedAction): ParsedAction | UnparsedAction {
  const action = catalogue.get(proposed.tool);
  // The host's own actions have no description: to a model they don't exist.
  if (action === undefined || (action.description === null && proposed.principal.kind !== "system")) {
    const names = [...catalogue.values()].filter(({ description }) => description !== null).map(({ name }) => name);
    const refusal = unknownTool(proposed.tool, names, closestCall(proposed.tool, names, proposed.rawArguments));
    return unparsed("unknown_tool", null, refusal);
  }
  const gate = parseStrictJson(proposed.rawArguments);
  if (gate.kind === "refused") return refuseText(proposed, gate);
  const fitted = action.Arguments.safeParse(gate.value);
  if (!fitted.success) return refuseArguments(proposed.tool, gate.value, fitted.error);
  return { kind: "parsed", proposed, action, arguments: fitted.data, canonical: canonicalBytes(fitted.data) };
}

const unparsed = (code: string, position: string | null, refusal: Refusal): UnparsedAction => ({
  kind: "refused",
  stage: "parse",
  code,
  position,
  refusal,
  parsed: null,
});

function refuseText(
  { tool, rawArguments }: ProposedAction,
  gate: { readonly code: string; readonly position: number },
): UnparsedAction {
  const position = `offset ${gate.position}`;
  // The text ended before the JSON did: whatever the server says, it was cut at the output limit (ACI-65).
  const isCut = gate.code === "not_json" && gate.position >= rawArguments.trimEnd().length;
  if (isCut) return unparsed("truncated_call", position, truncatedCall(tool, rawArguments.length, null));
  const expected = `one JSON object (${gate.code} at ${position})`;
  return unparsed(gate.code, position, invalidArguments("arguments", rawArguments, expected, null));
}

function refuseArguments(tool: string, value: JsonValue, error: z.ZodError): UnparsedAction {
  const issue = error.issues[0];
  const unknownKeys = issue?.code === "unrecognized_keys" ? issue.keys : [];
  const path = [...(issue?.path ?? []), ...unknownKeys.slice(0, 1)].map(String);
  const received = path.reduce<unknown>((inner, key) => Object(inner)[key], value);
  const expected = unknownKeys.length > 0 ? "no such field" : (issue?.message ?? "arguments of the tool's schema");
  const field = path.join(".") || "arguments";
  const position = unknownKeys.length > 0 ? "unknown field" : path.join(".");
  return unparsed(
    "invalid_arguments",
    position,
    invalidArguments(field, received, expected, correctedCall(tool, value, path)),
  );
}

/** The call without the field that does not fit: a model that leaves it out gets the default. */
function correctedCall(tool: string, value: JsonValue, path: readonly string[]): Refusal["example"] {
  const [field] = path;
  if (value === null || typeof value !== "object" || Array.isArray(value) || field === undefined) return null;
  const { [field]: _left, ...kept } = value as JsonObject;
  return { tool, arguments: kept };
}
