import { lstat, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ActionId } from "../domain/index.ts";
import type { RunReport } from "../run/index.ts";
import type { KeptRecord } from "./demo-result.ts";

/** The last action that wrote a published path: what was published is its content. */
export function publishedByOf({ actions, patch, pullRequest }: RunReport): ActionId | null {
  if (pullRequest === null) return null;
  const isPublished = (path: string): boolean => patch.includes(` b/${path}\n`);
  const writer = actions.findLast(
    ({ tool, state, status, changeSet }) =>
      tool !== "push_commit" &&
      state === "succeeded" &&
      status === "ok" &&
      changeSet?.changes.some(({ path }) => isPublished(path)),
  );
  return writer?.actionId ?? null;
}

/** Writes the arguments for whoever wants to hash them, and says how much the folder holds. */
export async function keepArguments(folder: string, bytes: Uint8Array | null): Promise<KeptRecord> {
  const file = join(folder, "arguments.json");
  if (bytes !== null) await writeFile(file, bytes, { mode: 0o600 });
  return { argumentsFile: bytes === null ? null : file, sizeBytes: await sizeOf(folder) };
}

/** Files come and go as long as the service runs. */
async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = entries.map(async (entry) => {
    if (!entry.isFile()) return 0;
    const found = await lstat(join(entry.parentPath, entry.name)).catch(() => null);
    return found === null ? 0 : found.blocks * 512;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
