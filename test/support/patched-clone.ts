import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const usualPath = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`;

/** Exit code of a test command in a fresh clone of a repository, with a patch laid on it by plain `git apply`. */
export function testsOnPatchedClone(
  repository: string,
  patch: string,
  [program = "", ...rest]: readonly string[],
  folder: string,
): number | null {
  const clone = join(folder, "clone");
  const environment = { PATH: usualPath, HOME: folder, GIT_CONFIG_NOSYSTEM: "1" };
  execFileSync("git", ["-c", "safe.directory=*", "clone", "--quiet", "--no-hardlinks", repository, clone], {
    env: environment,
  });
  writeFileSync(join(folder, "of-the-run.patch"), patch);
  execFileSync("git", ["apply", join(folder, "of-the-run.patch")], { cwd: clone, env: environment });
  return spawnSync(program, rest, { cwd: clone, env: environment, encoding: "utf8" }).status;
}
