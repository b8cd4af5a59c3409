import { chmod, copyFile, cp, mkdir, readdir, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { arch } from "node:os";
import { dirname, join } from "node:path";
import { CountersignError } from "../domain/index.ts";
import { randomName, type WorkspaceDeps } from "./host.ts";
import { serviceFolder } from "./service-folder.ts";

const locate = createRequire(import.meta.url);

/** The folder of an installed package; it must be there, since the lock file pins it. */
export function packageFolder(name: string): string {
  try {
    return dirname(locate.resolve(`${name}/package.json`));
  } catch (cause) {
    // biome-ignore lint/style/useErrorCause: it is passed, with the options of our own class
    throw new CountersignError("SANDBOX_FAILED", `the package \`${name}\` is not installed`, {
      cause,
      remedy: "run `npm ci` in the checkout of Countersign",
    });
  }
}

async function versionOf(folder: string): Promise<string> {
  const text = await readFile(join(folder, "package.json"), "utf8");
  return /"version":\s*"([^"]+)"/.exec(text)?.[1] ?? "unknown";
}

/**
 * The folder that stands as `/opt/tools` in every sandbox: node, npm, npx and rg, copied out of the checkout with modes that
 * let a run uid execute them (SEC-44, SEC-47). Made once per set of versions, and whole or not at all.
 */
export async function prepareTools(deps: Pick<WorkspaceDeps, "home" | "randomBytes">): Promise<string> {
  const platform = `linux-${arch()}`;
  const node = packageFolder(`node-${platform}`);
  const npm = packageFolder("npm");
  const ripgrep = packageFolder(`@vscode/ripgrep-${platform}`);
  const versions = await Promise.all([node, npm, ripgrep].map(versionOf));
  const parent = serviceFolder(deps, "tools", 0o755);
  const folder = join(parent, `node-${versions[0]}-npm-${versions[1]}-rg-${versions[2]}`);
  if (await exists(folder)) return folder;

  const making = join(parent, `.making-${randomName(deps)}`);
  try {
    await mkdir(join(making, "bin"), { recursive: true });
    await copyProgram(join(node, "bin", "node"), join(making, "bin", "node"));
    await copyProgram(join(ripgrep, "bin", "rg"), join(making, "bin", "rg"));
    await cp(npm, join(making, "lib", "npm"), { recursive: true, dereference: true });
    for (const name of ["npm", "npx"]) {
      await chmod(join(making, "lib", "npm", "bin", `${name}-cli.js`), 0o755);
      await symlink(`../lib/npm/bin/${name}-cli.js`, join(making, "bin", name));
    }
    await openToAll(making);
    await rename(making, folder);
  } catch (error) {
    await rm(making, { recursive: true, force: true });
    if (!(await exists(folder))) throw error; // else another process was first
  }
  return folder;
}

async function copyProgram(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  await chmod(to, 0o755);
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Whatever the umask of the service or the modes of the checkout: readable by any user id, folders enterable. */
async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const item of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, item.name);
    if (item.isDirectory()) await openToAll(path);
    else if (item.isFile()) {
      const isProgram = ((await stat(path)).mode & 0o100) !== 0;
      await chmod(path, isProgram ? 0o755 : 0o644);
    }
  }
}
