import { isUtf8Name } from "./path-bytes.ts";

/** Code points that HFS+ and other file systems leave out of comparisons (git's utf8.c, `next_hfs_char`), and all of Cf. */
const ignorable = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
const plain = /^[\x20-\x7e]*$/;
const controls = /\p{Cc}/u;

/** What remains of a name on the file systems that see the fewest differences: equal keys collide somewhere (SEC-88). */
export function collisionKey(name: string): string {
  if (plain.test(name)) return name.toLowerCase().replace(/[. ]+$/, "");
  return foldCase(name.normalize("NFC").replace(ignorable, "")).replace(/[. ]+$/, "");
}

const foldCase = (text: string): string => text.toUpperCase().toLowerCase().normalize("NFC");

/** `.git` as HFS+, NTFS (8.3 names, trailing dots and spaces, streams) or a case-blind file system may read it. */
export function looksLikeGitFolder(name: string): boolean {
  const beforeStream = name.split(":")[0] ?? "";
  const key = collisionKey(beforeStream);
  return key === ".git" || /^git~[0-9]+$/.test(key);
}

/** Why a new name can't stand in a commit; null where it can. */
export function refusedName(name: string): string | null {
  if (name === "" || name === "." || name === "..") return "is no name";
  if (!isUtf8Name(name)) return "is not valid UTF-8";
  if (controls.test(name)) return "holds a control character";
  if (name.includes("\\")) return "holds a backslash";
  if (looksLikeGitFolder(name)) return "is a spelling of `.git`";
  return null;
}

/** A name as text for messages: what can't be shown is escaped. */
export const showName = (name: string): string => JSON.stringify(name).replace(ignorable, escapeCodePoint);

const escapeCodePoint = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
