/** A real line of a file, for advice. */
export type NearLine = { readonly line: number; readonly text: string };

const comparedCharacters = 300;
const maxComparedLines = 50_000;
const leastLikeness = 0.4;

/** Up to three lines of the text that are most like the wanted one, best first. For messages only, never for writing (ACI-33). */
export function nearestLines(text: string, wanted: string): readonly NearLine[] {
  const target = pairsOf(wanted.trim());
  if (target.size === 0) return [];
  return text
    .split("\n", maxComparedLines)
    .map((line, index) => ({ line: index + 1, text: line, likeness: likeness(target, pairsOf(line.trim())) }))
    .filter((line) => line.likeness >= leastLikeness)
    .toSorted((a, b) => b.likeness - a.likeness || a.line - b.line)
    .slice(0, 3)
    .map(({ line, text: real }) => ({ line, text: real.slice(0, comparedCharacters) }));
}

/** Dice's coefficient over pairs of neighbouring characters. */
function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (b.size === 0) return 0;
  let shared = 0;
  for (const pair of a) if (b.has(pair)) shared += 1;
  return (2 * shared) / (a.size + b.size);
}

function pairsOf(line: string): ReadonlySet<string> {
  const pairs = new Set<string>();
  const end = Math.min(line.length, comparedCharacters) - 1;
  for (let at = 0; at < end; at += 1) pairs.add(line.slice(at, at + 2));
  return pairs;
}
