import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const searchPath = { env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" }, cwd: "/" };

/**
 * Removes a folder that strangers' programs may have filled; true where it is gone. By `rm`, which goes down by descriptors
 * and so copes with any depth; folders that were made unreadable are opened first, which an ordinary user needs.
 */
export async function removeFolder(folder: string): Promise<boolean> {
  const remove = (): Promise<boolean> => succeeds("rm", ["-rf", "--one-file-system", "--", folder]);
  if (await remove()) return true;
  await succeeds("chmod", ["-R", "u+rwX", "--", folder]);
  return remove();
}

function succeeds(program: string, argv: readonly string[]): Promise<boolean> {
  return run(program, argv, searchPath).then(
    () => true,
    () => false,
  );
}
