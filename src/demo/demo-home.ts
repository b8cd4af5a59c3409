import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import {
  endAbandonedServers,
  makeHome,
  ownerState,
  processOwner,
  removeFolder,
  sweepLeftovers,
} from "../store/index.ts";

/** The service folder of one demonstration. */
export type DemoHome = AsyncDisposable & {
  readonly folder: string;
  /** From now on the folder outlives the process. */
  keep(): Promise<void>;
};

const ownerFile = "demo-owner";

/**
 * Makes a service folder whose name begins with `prefix`, an absolute path, and removes it when disposed. What killed
 * demonstrations of the same prefix left behind, processes included, is removed first (SEC-61).
 */
export async function openDemoHome(prefix: string, notice: (line: string) => void): Promise<DemoHome> {
  const parent = await makeHome(dirname(prefix));
  for (const name of await readdir(parent)) {
    const left = join(parent, name);
    if (!name.startsWith(basename(prefix)) || !(await isAbandoned(left))) continue;
    for (const line of await sweepLeftovers(left)) notice(line);
    await endAbandonedServers({ notice }, left);
    await removeFolder(left);
  }
  const folder = await mkdtemp(prefix);
  await chmod(folder, 0o711); // the database's user and the sandboxes' pass through
  const owner = join(folder, ownerFile);
  await writeFile(owner, processOwner(), { mode: 0o600 });
  let isKept = false;
  return {
    folder,
    keep: async () => {
      await rm(owner, { force: true });
      isKept = true;
    },
    [Symbol.asyncDispose]: async () => {
      if (!isKept) await removeFolder(folder);
    },
  };
}

async function isAbandoned(folder: string): Promise<boolean> {
  const owner = await readFile(join(folder, ownerFile), "utf8").catch(() => null);
  return owner !== null && ownerState(owner) === "dead";
}
