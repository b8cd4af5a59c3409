/** How many hits a file has. */
export type Hits = { readonly path: string; readonly count: number };

export type Narrower = { readonly path: string; readonly count: number; readonly total: number };

/**
 * The folder or file that holds the largest part of the hits but not all of them: the same call with this `path` is the
 * narrower query (ACI-22). Null where the hits can't be told apart by place.
 */
export function narrowerPath(hits: readonly Hits[]): Narrower | null {
  const total = hits.reduce((sum, hit) => sum + hit.count, 0);
  const depths = commonDepth(hits.map((hit) => hit.path.split("/")));
  const counts = new Map<string, number>();
  for (const hit of hits) {
    const part = hit.path
      .split("/")
      .slice(0, depths + 1)
      .join("/");
    counts.set(part, (counts.get(part) ?? 0) + hit.count);
  }
  if (counts.size < 2) return null;
  const [path, count] = [...counts].toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0] ?? ["", 0];
  return { path, count, total };
}

function commonDepth(paths: readonly (readonly string[])[]): number {
  const first = paths[0] ?? [];
  let depth = 0;
  while (
    depth < first.length - 1 &&
    paths.every((parts) => parts.length > depth + 1 && parts[depth] === first[depth])
  ) {
    depth += 1;
  }
  return depth;
}
