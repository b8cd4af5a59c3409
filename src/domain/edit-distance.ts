/** Levenshtein distance of two short names; the first 64 characters count. */
export function editDistance(left: string, right: string): number {
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
