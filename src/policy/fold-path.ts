/** A path cut into names, with empty names and `.` taken out and `..` resolved; null where it leaves its root. */
export function resolveNames(path: string): readonly string[] | null {
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(name);
    else if (names.pop() === undefined) return null;
  }
  return names;
}

/** Unicode's default ignorable code points, formats and controls: a reader sees nothing of them, some file systems drop them. */
const unseen = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]/gu;
const plain = /^[a-z0-9_-][a-z0-9._-]*[a-z0-9_-]$/;

/**
 * A name as the most forgiving file system would compare it: no code points that are not seen, compatibility normal form,
 * folded case (through upper case, since `ſ` and `ı` have no lower-case way to `s` and `i`), no dots and spaces at the end.
 */
function foldName(name: string): string {
  if (plain.test(name)) return name;
  return name
    .replace(unseen, "")
    .normalize("NFKC")
    .toUpperCase()
    .toLowerCase()
    .normalize("NFKC")
    .replace(unseen, "")
    .replace(/[. ]+$/u, "");
}

/** Each name folded; null where the path leaves its root. Names that fold to nothing are kept as such. */
export const foldedNames = (path: string): readonly string[] | null => resolveNames(path)?.map(foldName) ?? null;
