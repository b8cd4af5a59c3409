import type { JsonObject } from "../domain/index.ts";
import { parseStrictJson } from "../domain/index.ts";

/** A call of the tool whose name is nearest to one that does not exist, with the arguments as they were sent. */
export function closestCall(
  name: string,
  names: readonly string[],
  rawArguments: string,
): { readonly tool: string; readonly arguments: JsonObject } {
  const nearest = names.reduce(
    (best, next) => (distance(name, next) < distance(name, best) ? next : best),
    names[0] ?? name,
  );
  const gate = parseStrictJson(rawArguments);
  const isObject = gate.kind === "value" && gate.value !== null && typeof gate.value === "object";
  return { tool: nearest, arguments: isObject && !Array.isArray(gate.value) ? (gate.value as JsonObject) : {} };
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
