import { chmodSync, mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { CountersignError } from "../domain/index.ts";
import type { Owner, WorkspaceDeps } from "./host.ts";

/** A folder of the service below home, made with its mode where it is missing; home itself lets others pass (SEC-47). */
export function serviceFolder(deps: Pick<WorkspaceDeps, "home">, name: string, mode: number): string {
  const made = mkdirSync(deps.home, { recursive: true });
  for (let folder = deps.home; made !== undefined; folder = dirname(folder)) {
    chmodSync(folder, 0o711);
    if (folder === made) break;
  }
  const folder = join(deps.home, name);
  if (mkdirSync(folder, { recursive: true }) !== undefined) chmodSync(folder, mode);
  return folder;
}

/** Throws STORE_PATH_UNREACHABLE, with path, uid and mode, where a run uid can't pass a folder on the way (SEC-47). */
export async function refuseUnreachable(folder: string, owner: Owner): Promise<void> {
  if (owner === null) return;
  if (dirname(folder) !== folder) await refuseUnreachable(dirname(folder), owner);
  const found = statSync(folder);
  const needed = found.uid === owner.uid ? 0o100 : 0o001;
  if ((found.mode & needed) !== 0) return;
  const mode = (found.mode & 0o7777).toString(8).padStart(4, "0");
  throw new CountersignError(
    "STORE_PATH_UNREACHABLE",
    `\`${folder}\` (mode ${mode}) can't be entered by user id ${owner.uid}`,
    { details: { uid: owner.uid, mode } },
  );
}
