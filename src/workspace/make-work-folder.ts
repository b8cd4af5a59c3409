import { chownSync } from "node:fs";
import type { Owner } from "./host.ts";
import { makeFolderWith } from "./sandbox-place.ts";

/** An empty folder that a sandbox may write and nobody else may enter. */
export function makeWorkFolder(path: string, owner: Owner): string {
  makeFolderWith(path, 0o700);
  if (owner !== null) chownSync(path, owner.uid, owner.gid);
  return path;
}
