import { indexOf } from "./base-index.ts";
import type { BaseTree } from "./workspace.ts";

/** Folders of dependencies and caches by their usual names (SEC-89). */
const usualNames = new Set(["node_modules", ".venv", "__pycache__"]);

/** Whether a real folder is left unread: never one below which the base tracks anything. */
export type IsIgnored = (path: string) => boolean;

/** Which folders are left unread. `buildOutput`: repository-relative folders that the settings list as made by the build. */
export function ignoredFolders(base: Pick<BaseTree, "entries">, buildOutput: readonly string[]): IsIgnored {
  const listed = new Set(buildOutput.map((path) => path.replace(/^\.\/|\/+$/g, "")));
  return (path) => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    const isUntracked = !indexOf(base).folders.has(path) && !base.entries.has(path); // the latter: a submodule
    return (usualNames.has(name) || listed.has(path)) && isUntracked;
  };
}
