import type { FileChange } from "../domain/index.ts";
import { foldedNames } from "../policy/index.ts";

/**
 * Takes out what can't stand beside what is kept back: where the deletion of a path is not let out, the path stays, and a file above,
 * below or in place of it would delete it all the same, unasked (AUD-21). `found` is all that was read; `allowed` is what is left of it.
 */
export function withoutObstructed(
  found: readonly FileChange[],
  allowed: readonly FileChange[],
): { readonly fitting: readonly FileChange[]; readonly obstructed: readonly FileChange[] } {
  const going = new Set(allowed.filter(({ after }) => after === null).map(({ path }) => path));
  const staying = found.filter(({ path, after }) => after === null && !going.has(path)).map(({ path }) => path);
  const isObstructed = ({ path, after }: FileChange): boolean =>
    after !== null && staying.some((kept) => collide(path, kept));
  return {
    fitting: allowed.filter((change) => !isObstructed(change)),
    obstructed: allowed.filter(isObstructed),
  };
}

/** Whether one is the other, or a folder above it, or only a file system that tells their spellings apart could hold both. */
function collide(one: string, other: string): boolean {
  const [names, others] = [one.split("/"), other.split("/")];
  for (const [at, name] of names.entries()) {
    const beside = others[at];
    if (beside === undefined) return true;
    if (folded(name) !== folded(beside)) return false;
    if (name !== beside) return true;
  }
  return true;
}

const folded = (name: string): string => foldedNames(name)?.[0] ?? name;
