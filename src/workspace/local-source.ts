import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { CountersignError } from "../domain/index.ts";
import { type FoundSource, localRepositoryId } from "./found-source.ts";
import { askGit } from "./git.ts";
import type { WorkspaceDeps } from "./host.ts";
import { type AskSource, listUncommitted } from "./uncommitted.ts";

/**
 * The commit of `HEAD` of the repository at exactly this path. Throws NOT_A_REPOSITORY for anything that is no folder with a
 * work tree and a commit.
 */
export async function readLocalSource(deps: WorkspaceDeps, typed: string, signal: AbortSignal): Promise<FoundSource> {
  const refuse = (cause: string): never => {
    throw new CountersignError("NOT_A_REPOSITORY", `\`${typed}\` ${cause}`);
  };
  const folder = await realpath(typed).catch(() => null);
  if (folder === null) return refuse("does not exist or can't be entered");
  if (!(await stat(folder)).isDirectory()) return refuse("is no folder");

  const ask: AskSource = (commands) =>
    askGit(
      deps,
      {
        arguments: ["-C", folder, ...commands],
        gitFolder: null,
        settings: [`safe.directory=${folder}`, "core.untrackedCache=false"],
        environment: { GIT_CEILING_DIRECTORIES: dirname(folder) }, // this folder or none: a parent was not typed
      },
      signal,
    );
  const places = await ask(["rev-parse", "--show-object-format", "--absolute-git-dir", "--git-common-dir"]);
  if (places.kind === "failed") return refuse(await whyNone(folder, places.line));
  const [objectFormat, gitFolder = folder, commonFolder = "."] = places.stdout.toString("utf8").split("\n");
  const head = await ask(["rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}"]);
  if (head.kind === "failed") return refuse("has no commit yet");
  return {
    repository: { id: localRepositoryId(folder), name: basename(folder) },
    commitSha: head.stdout.toString("latin1").trim(),
    objectFormat: objectFormat === "sha256" ? "sha256" : "sha1",
    address: pathToFileURL(folder).href,
    protocol: "file",
    safeFolders: [...new Set([folder, gitFolder, await realpath(join(folder, ".git")), commonFolder])].filter((path) =>
      path.startsWith("/"),
    ),
    uncommitted: await listUncommitted(ask, folder, gitFolder),
  };
}

async function whyNone(folder: string, line: string): Promise<string> {
  const exists = (name: string): Promise<boolean> =>
    stat(join(folder, name)).then(
      () => true,
      () => false,
    );
  if (await exists(".git")) return `is a git repository that git can't read: ${line}`;
  if ((await exists("HEAD")) && (await exists("objects"))) return "is a bare repository; name a checkout of it";
  return "is no git repository";
}
