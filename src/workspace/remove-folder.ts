import { spawn } from "node:child_process";
import { once } from "node:events";
import { CountersignError } from "../domain/index.ts";
import { findProgram } from "./find-program.ts";
import type { WorkspaceDeps } from "./host.ts";

/**
 * Removes a folder that a sandbox has filled. By `rm`, which goes down by descriptors and so copes with any depth; folders
 * that were made unreadable are opened first (root needs no such thing, an ordinary user does).
 */
export async function removeFolder(deps: Pick<WorkspaceDeps, "searchPath">, folder: string): Promise<void> {
  const remove = ["rm", "-rf", "--one-file-system", "--", folder];
  if (await ended(deps, remove)) return;
  await ended(deps, ["chmod", "-R", "u+rwX", "--", folder]);
  if (await ended(deps, remove)) return;
  throw new CountersignError("WORKSPACE_POISONED", `\`${folder}\` could not be removed`, {
    remedy: "remove it by hand once nothing uses it",
  });
}

async function ended(
  deps: Pick<WorkspaceDeps, "searchPath">,
  [name = "", ...rest]: readonly string[],
): Promise<boolean> {
  const program = findProgram(deps.searchPath, name);
  if (program === null) return false;
  const child = spawn(program, rest, { cwd: "/", env: {}, stdio: "ignore" });
  const [exitCode] = await once(child, "exit");
  return exitCode === 0;
}
