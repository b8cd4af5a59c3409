import { type JsonObject, parseStrictJson } from "../domain/index.ts";
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
    (best, next) => (distance(name, next.name) < distance(name, best.name) ? next : best),
    first,
  );
  const gate = parseStrictJson(rawArguments);
  const call = fittingCall(nearest, gate.kind === "value" ? gate.value : null);
  return { tool: nearest.name, arguments: (call?.arguments ?? {}) as JsonObject };
}

/** Levenshtein distance of two short names; the first 64 characters count. */
function distance(left: string, right: string): number {
  const from = [...left.slice(0, 64)];
  const to = [...right.slice(0, 64)];
  let row = to.map((_, at) => at + 1);
  from.forEach((character, at) => {
    const next: number[] = [];
    to.forEach((other, column) => {
      const above = row[column] ?? 0;
      const before = column === 0 ? at + 1 : (next[column - 1] ?? 0);
      const diagonal = column === 0 ? at : (row[column - 1] ?? 0);
      next.push(Math.min(above + 1, before + 1, diagonal + (character === other ? 0 : 1)));
    });
    row = next;
  });
  return row.at(-1) ?? from.length;
}
