import { editDistance, type JsonObject, parseStrictJson } from "../domain/index.ts";
import type { AnyAction } from "./catalogue.ts";
import { fittingCall } from "./fitting-call.ts";

/** A call of the tool whose name is nearest to one that does not exist, with the arguments as far as they fit. */
export function closestCall(
  name: string,
  offered: readonly AnyAction[],
  rawArguments: string,
): { readonly tool: string; readonly arguments: JsonObject } {
  const [first, ...others] = offered;
  if (first === undefined) throw new Error("a catalogue without a tool for the model");
  const nearest = others.reduce(
    (best, next) => (editDistance(name, next.name) < editDistance(name, best.name) ? next : best),
    first,
  );
  const gate = parseStrictJson(rawArguments);
  const call = fittingCall(nearest, gate.kind === "value" ? gate.value : null);
  return { tool: nearest.name, arguments: (call?.arguments ?? {}) as JsonObject };
}
