import { closeSync, constants, fchmodSync, fchownSync, mkdirSync, openSync } from "node:fs";
import type { Owner } from "./host.ts";
import { bytesOfName } from "./path-bytes.ts";

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** The one way to name something in a folder: its descriptor and a single component (SEC-86). */
export const placeIn = (descriptor: number, name: string): Buffer => bytesOfName(`/proc/self/fd/${descriptor}/${name}`);

/** Opens the root of a tree, where a walk starts. */
export const openRoot = (folder: string): number => openSync(folder, folderFlags);

/** Opens a folder in a folder. A link in its place throws ENOTDIR (ELOOP on some kernels). */
export const openFolder = (parent: number, name: string): number => openSync(placeIn(parent, name), folderFlags);

/** Makes a folder with mode 0755 and its owner. */
export function makeFolder(parent: number, name: string, owner: Owner): void {
  mkdirSync(placeIn(parent, name), 0o700);
  const made = openFolder(parent, name);
  try {
    if (owner !== null) fchownSync(made, owner.uid, owner.gid);
    fchmodSync(made, 0o755); // not through mkdir, where the umask of the service would have a say
  } finally {
    closeSync(made);
  }
}

/** Nothing is there, or a file or a link stands where a folder should: no folder on the way to a path. */
const absentCodes = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

/** A folder's descriptor, valid until the next step, and a name in it. */
export type FolderPlace = { readonly folder: number; readonly name: string };

/**
 * Steps from folder to folder of a tree in path order, with one descriptor open a level: folders are opened once, and no
 * path of two components is ever opened.
 */
export class FolderSteps implements Disposable {
  readonly #open: { readonly name: string; readonly descriptor: number }[];

  constructor(root: number) {
    this.#open = [{ name: "", descriptor: root }];
  }

  /** The folder that holds `path`; missing ones are made. Throws where something else stands in the way. */
  make(path: string, owner: Owner): FolderPlace {
    return this.#step(path, (parent, name) => {
      try {
        return openFolder(parent, name);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
        makeFolder(parent, name, owner);
        return openFolder(parent, name);
      }
    });
  }

  /** The folder that holds `path`, or null where there is none. */
  find(path: string): FolderPlace | null {
    try {
      return this.#step(path, openFolder);
    } catch (error) {
      if (absentCodes.has((error as NodeJS.ErrnoException).code ?? "")) return null;
      throw error;
    }
  }

  #step(path: string, open: (parent: number, name: string) => number): FolderPlace {
    const components = path.split("/");
    const name = components.pop() ?? "";
    let level = 0;
    while (level < components.length && this.#open[level + 1]?.name === components[level]) level++;
    this.#closeDownTo(level + 1);
    for (const component of components.slice(level)) {
      this.#open.push({ name: component, descriptor: open(this.#current(), component) });
    }
    return { folder: this.#current(), name };
  }

  #current(): number {
    return this.#open.at(-1)?.descriptor ?? -1;
  }

  #closeDownTo(length: number): void {
    for (const { descriptor } of this.#open.splice(length)) closeSync(descriptor);
  }

  /** Closes all folders but the root, which belongs to the caller. */
  [Symbol.dispose](): void {
    this.#closeDownTo(1);
  }
}
