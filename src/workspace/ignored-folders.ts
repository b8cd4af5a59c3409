import type { TreeEntry } from "../domain/index.ts";

/** Folders of dependencies and caches by their usual names (SEC-89). */
const usualNames = new Set(["node_modules", ".venv", "__pycache__"]);

/** Whether a real folder is left unread: never one below which the base tracks anything. */
export type IsIgnored = (path: string) => boolean;

/** The folders of the base, and which others are left unread. `buildOutput`: repository-relative folders that the settings list as made by the build. */
export function ignoredFolders(
  base: ReadonlyMap<string, TreeEntry>,
  buildOutput: readonly string[],
): { readonly baseFolders: ReadonlySet<string>; readonly isIgnored: IsIgnored } {
  const tracked = new Set<string>();
  for (const path of base.keys()) {
    for (let slash = path.lastIndexOf("/"); slash > 0; slash = path.lastIndexOf("/", slash - 1)) {
      const folder = path.slice(0, slash);
      if (tracked.has(folder)) break; // and so are all above it
      tracked.add(folder);
    }
  }
  const listed = new Set(buildOutput.map((path) => path.replace(/^\.\/|\/+$/g, "")));
  const isIgnored: IsIgnored = (path) => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    return (usualNames.has(name) || listed.has(path)) && !tracked.has(path);
  };
  return { baseFolders: tracked, isIgnored };
}
