import { isUtf8 } from "node:buffer";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

export type SourceFile = { readonly path: string; readonly text: string };

const roots = [resolve(import.meta.dirname, "../../node_modules"), "/usr/lib/python3", "/usr/share/perl"];
const isSource = /\.(?:[cm]?[jt]sx?|json|md|css|html|py|pyi|pl|pm|pod|c|h|sh|ya?ml|toml)$/;
const largestBytes = 200_000;

/**
 * Real source files of several languages that lie on every machine that runs these tests, `count` in all, the same share of
 * each root that is there. Files that are large, empty or not UTF-8 are passed over.
 */
export function sourceFiles(count: number): readonly SourceFile[] {
  const present = roots.filter((root) => existsSync(root)).reverse();
  const found: SourceFile[] = [];
  for (const [at, root] of present.entries()) {
    const share = found.length + Math.ceil((count - found.length) / (present.length - at));
    for (const path of filesBelow(root)) {
      if (found.length >= share) break;
      const bytes = readFileSync(path);
      if (bytes.length > 0 && isUtf8(bytes)) found.push({ path, text: bytes.toString("utf8") });
    }
  }
  return found;
}

/** Depth first, in the order of names, and of each folder at most a few: one package is not to fill the sample. */
function* filesBelow(folder: string): Generator<string> {
  const entries = readdirSync(folder, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const files = entries.filter((entry) => entry.isFile() && isSource.test(entry.name));
  for (const { name } of files.slice(0, 8)) {
    const path = join(folder, name);
    if (statSync(path).size <= largestBytes) yield path;
  }
  for (const entry of entries) if (entry.isDirectory()) yield* filesBelow(join(folder, entry.name));
}
