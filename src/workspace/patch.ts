import { isUtf8 } from "node:buffer";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ChangeSet } from "../domain/index.ts";
import { runGit } from "./git.ts";
import type { WorkspaceDeps } from "./host.ts";
import { bytesOfName } from "./path-bytes.ts";
import { serviceFolder } from "./service-folder.ts";
import type { BaseTree } from "./workspace.ts";

/**
 * The change set as a patch that plain `git apply` takes on a clone at the base commit. Written by git itself from objects
 * and an index of a temporary folder: the mirror is only read. Always text: where a line is not UTF-8, every file of the patch
 * is written in git's binary form.
 */
export async function renderPatch(
  deps: WorkspaceDeps,
  base: BaseTree,
  changeSet: ChangeSet,
  signal: AbortSignal,
): Promise<string> {
  const folder = await mkdtemp(join(serviceFolder(deps, "mirrors", 0o700), "patch-"));
  try {
    await mkdir(join(folder, "objects"));
    const environment = {
      GIT_INDEX_FILE: join(folder, "index"),
      GIT_OBJECT_DIRECTORY: join(folder, "objects"),
      GIT_ALTERNATE_OBJECT_DIRECTORIES: join(base.mirrorFolder, "objects"),
    };
    const git = (purpose: string, commands: readonly string[], input?: Uint8Array): Promise<Buffer> => {
      const call = { arguments: commands, gitFolder: base.mirrorFolder, environment, purpose };
      return runGit(deps, input === undefined ? call : { ...call, input }, signal);
    };
    await git("read the tree of the base", ["read-tree", "--end-of-options", base.treeSha]);
    const lines: Buffer[] = [];
    for (const { path, after } of changeSet.changes) {
      const place = Buffer.concat([bytesOfName(path), Buffer.of(0)]);
      if (after === null) lines.push(Buffer.from(`0 ${"0".repeat(base.commitSha.length)}\t`), place);
      else {
        const content = Buffer.from(after.content);
        const blobSha = await git("store a changed file", ["hash-object", "-w", "--stdin", "--no-filters"], content);
        lines.push(Buffer.from(`${after.mode} ${blobSha.toString("latin1").trim()}\t`), place);
      }
    }
    await git("index the change", ["update-index", "-z", "--index-info"], Buffer.concat(lines));
    const diff = ["diff-index", "--cached", "--patch", "--binary", "--full-index", "--no-renames", "--no-color"];
    const writePatch = (settings: readonly string[]): Promise<Buffer> =>
      git("write the patch", [
        ...settings,
        ...diff,
        "--no-ext-diff",
        "--no-textconv",
        "--end-of-options",
        base.treeSha,
      ]);
    const patch = await writePatch([]);
    if (isUtf8(patch)) return patch.toString("utf8");
    const attributes = join(folder, "attributes");
    await writeFile(attributes, "* -diff\n");
    return (await writePatch(["-c", `core.attributesFile=${attributes}`])).toString("utf8");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
