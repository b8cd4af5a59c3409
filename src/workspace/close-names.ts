/** Paths close to a missing one, best first: the same name elsewhere, then names beside it that differ by few letters. */
export function closestPaths(wanted: string, paths: Iterable<string>, count: number): readonly string[] {
  const folder = wanted.slice(0, wanted.lastIndexOf("/") + 1);
  const name = wanted.slice(folder.length);
  const ranked: { readonly path: string; readonly distance: number }[] = [];
  for (const path of paths) {
    const ownFolder = path.slice(0, path.lastIndexOf("/") + 1);
    const ownName = path.slice(ownFolder.length);
    if (ownName === name) ranked.push({ path, distance: 0.5 });
    else if (ownFolder === folder) {
      const distance = lettersApart(name.toLowerCase(), ownName.toLowerCase());
      if (distance <= Math.max(2, name.length / 3)) ranked.push({ path, distance });
    }
  }
  const better = (a: { path: string; distance: number }, b: { path: string; distance: number }): number =>
    a.distance - b.distance || (a.path < b.path ? -1 : 1);
  return ranked
    .sort(better)
    .slice(0, count)
    .map(({ path }) => path);
}

/** Levenshtein's distance, row by row. */
function lettersApart(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
