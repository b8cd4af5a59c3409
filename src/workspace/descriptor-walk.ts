import { closeSync, lstatSync, readlinkSync } from "node:fs";
import { nameOfBytes } from "./path-bytes.ts";
import { openFolder, placeIn } from "./tree-folders.ts";
import type { PathResolution } from "./workspace.ts";

/** As many links as Linux itself follows in one path (path_resolution(7)). */
const linksAtMost = 40;
const pathBytesAtMost = 4096;

type EntryClass = "file" | "folder" | "link" | "absent" | "other";

/**
 * Walks `path` from the root's descriptor, one component at a time (SEC-86). The kernel follows no link: a link's text is
 * read and walked in its turn. Never throws for what a path or a tree may hold; what can't be resolved inside is `outside`.
 */
export function walkPath(root: number, path: string): PathResolution {
  const malformed = malformedPath(path);
  if (malformed !== null) return { kind: "outside", requested: path, cause: malformed };
  const walk = new Walk(root);
  try {
    const cause = walk.follow(path);
    if (cause !== null) return { kind: "outside", requested: path, cause };
    return { kind: "inside", requested: path, resolved: walk.resolved(), class: walk.class(), symlink: walk.links > 0 };
  } catch (error) {
    return { kind: "outside", requested: path, cause: causeOf(error) };
  } finally {
    walk.close();
  }
}

function malformedPath(path: string): string | null {
  if (path.includes("\0")) return "the path holds a NUL";
  if (path.startsWith("/")) return "the path is absolute; it must be relative to the repository's root";
  if (Buffer.byteLength(path) > pathBytesAtMost) return `the path is longer than ${pathBytesAtMost} bytes`;
  return null;
}

const causeOf = (error: unknown): string => {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) throw error; // no answer of the system: a bug of ours
  return code === "ENAMETOOLONG" ? "a name in the path is too long" : `the path can't be walked (${code})`;
};

type Step = { readonly name: string; readonly descriptor: number | null; readonly class: EntryClass };

class Walk {
  readonly #steps: Step[];
  links = 0;

  constructor(root: number) {
    this.#steps = [{ name: "", descriptor: root, class: "folder" }];
  }

  /** Walks on from where it stands. Answers why it may not go on, or null. */
  follow(path: string): string | null {
    const waiting = path.split("/").reverse();
    for (let component = waiting.pop(); component !== undefined; component = waiting.pop()) {
      if (component === "" || component === ".") continue;
      if (component === "..") {
        if (this.#steps.length === 1) return "the path leaves the repository";
        this.#leave();
        continue;
      }
      const target = this.#enter(component);
      if (target === null) continue;
      this.links++;
      if (this.links > linksAtMost) return `the path leads through more than ${linksAtMost} links`;
      if (target.startsWith("/")) return `\`${component}\` is a link that leaves the repository`;
      waiting.push(...target.split("/").reverse());
    }
    return null;
  }

  /** Steps into a component; of a link answers its text and stays. */
  #enter(name: string): string | null {
    const parent = this.#here().descriptor;
    const kind = parent === null ? "absent" : classOf(parent, name);
    if (kind === "link" && parent !== null) return readLink(parent, name);
    const descriptor = kind === "folder" && parent !== null ? openFolder(parent, name) : null;
    this.#steps.push({ name, descriptor, class: kind });
    return null;
  }

  #leave(): void {
    const left = this.#steps.pop();
    if (left !== undefined && left.descriptor !== null) closeSync(left.descriptor);
  }

  #here(): Step {
    return this.#steps.at(-1) ?? { name: "", descriptor: null, class: "absent" };
  }

  resolved(): string {
    const path = this.#steps.slice(1).map(({ name }) => name);
    return path.length === 0 ? "." : path.join("/");
  }

  class(): "file" | "folder" | "absent" | "other" {
    const kind = this.#here().class;
    return kind === "link" ? "other" : kind;
  }

  /** Closes all but the root's descriptor, which belongs to the caller. */
  close(): void {
    while (this.#steps.length > 1) this.#leave();
  }
}

/** What a name in a folder is, itself: a link is a link. */
export function classOf(folder: number, name: string): EntryClass {
  const facts = lstatSync(placeIn(folder, name), { throwIfNoEntry: false });
  if (facts === undefined) return "absent";
  if (facts.isFile()) return "file";
  if (facts.isDirectory()) return "folder";
  return facts.isSymbolicLink() ? "link" : "other";
}

export const readLinkBytes = (folder: number, name: string): Buffer =>
  readlinkSync(placeIn(folder, name), { encoding: "buffer" });

const readLink = (folder: number, name: string): string => nameOfBytes(readLinkBytes(folder, name));
