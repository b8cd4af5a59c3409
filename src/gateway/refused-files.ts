import type { FileChange } from "../domain/index.ts";
import { isBinary } from "./changed-text.ts";
import { hasInvisible, lineWithInvisible } from "./invisible-characters.ts";

/** What the operator permits into a commit beside plain text. */
export type CommitPermits = {
  /** Ends of the names of binary files, such as `.png`. */
  readonly binaryKinds: readonly string[];
  /** Folders below which added lines may have joiners; an empty text is the whole repository. */
  readonly joinersBelow: readonly string[];
};

/** One changed file with its content before; null where the path is new. */
export type GatedFile = { readonly change: FileChange; readonly base: Uint8Array | null };

/** SEC-98. */
const largestBinaryBytes = 1024 * 1024;

/**
 * The rules of the commit gate by which one file is refused (SEC-98, SEC-99), none where it may pass. What a name alone
 * forbids is policy's: see `protectionOf`.
 */
export function refusalsOfFile({ change, base }: GatedFile, permits: CommitPermits): readonly string[] {
  const { path, after } = change;
  if (hasInvisible(path)) return ["gate:invisible_in_name"];
  if (after === null) return [];
  if (isBinary(after.content)) return isPermittedBinary(path, after.content, permits) ? [] : ["gate:binary_file"];
  const text = decoded(after.content);
  const line = lineWithInvisible(text, base === null ? null : decoded(base), isBelow(path, permits.joinersBelow));
  return line === null ? [] : ["gate:invisible_characters"];
}

const decoded = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

const isPermittedBinary = (path: string, content: Uint8Array, { binaryKinds }: CommitPermits): boolean =>
  content.byteLength <= largestBinaryBytes &&
  binaryKinds.some((kind) => path.toLowerCase().endsWith(kind.toLowerCase()));

const isBelow = (path: string, folders: readonly string[]): boolean =>
  folders.some((folder) => folder === "" || path.startsWith(`${folder}/`));

/** Each package manager's lockfiles, and the manifests that they follow. Names are lower case. */
const managers: readonly { readonly lockfiles: readonly string[]; readonly manifests: readonly string[] }[] = [
  { lockfiles: ["package-lock.json", "npm-shrinkwrap.json"], manifests: ["package.json"] },
  { lockfiles: ["yarn.lock"], manifests: ["package.json"] },
  { lockfiles: ["pnpm-lock.yaml"], manifests: ["package.json", "pnpm-workspace.yaml"] },
  { lockfiles: ["bun.lock", "bun.lockb"], manifests: ["package.json"] },
  { lockfiles: ["deno.lock"], manifests: ["deno.json", "deno.jsonc", "package.json"] },
  { lockfiles: ["poetry.lock"], manifests: ["pyproject.toml"] },
  { lockfiles: ["pdm.lock"], manifests: ["pyproject.toml"] },
  { lockfiles: ["uv.lock"], manifests: ["pyproject.toml"] },
  { lockfiles: ["pipfile.lock"], manifests: ["pipfile"] },
  { lockfiles: ["cargo.lock"], manifests: ["cargo.toml"] },
  { lockfiles: ["go.sum"], manifests: ["go.mod"] },
  { lockfiles: ["gemfile.lock"], manifests: ["gemfile"] },
  { lockfiles: ["composer.lock"], manifests: ["composer.json"] },
];

/**
 * Why a lockfile is refused (SEC-98): the base has another package manager's in the same folder, or no manifest changes with
 * it. A workspace has its manifests below, so one in the folder or below it will do.
 */
export function refusalsOfLockfile(
  { path, before, after }: FileChange,
  changes: readonly FileChange[],
  basePaths: { readonly has: (path: string) => boolean },
): readonly string[] {
  const { folder, name } = split(path);
  const manager = managers.find(({ lockfiles }) => lockfiles.includes(name));
  if (manager === undefined || after === null) return [];
  const others = managers.filter((other) => other !== manager && shareManifest(other, manager));
  const isForeign =
    before === null && others.some(({ lockfiles }) => lockfiles.some((lock) => basePaths.has(folder + lock)));
  if (isForeign) return ["gate:foreign_lockfile"];
  const isFollowed = changes.some(
    (change) => change.path.startsWith(folder) && manager.manifests.includes(split(change.path).name),
  );
  return isFollowed ? [] : ["gate:lockfile_alone"];
}

type Manager = (typeof managers)[number];
const shareManifest = (a: Manager, b: Manager): boolean =>
  a.manifests.some((manifest) => b.manifests.includes(manifest));

function split(path: string): { readonly folder: string; readonly name: string } {
  const slash = path.lastIndexOf("/") + 1;
  return { folder: path.slice(0, slash), name: path.slice(slash).toLowerCase() };
}
