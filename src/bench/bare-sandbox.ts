import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseRunUids, sandboxFlags } from "../workspace/index.ts";

/** bubblewrap with the very flags of the product and nothing around it: no supervisor, no limits, no watch. */
export type BareSandbox = {
  /** All that stands before the program. */
  readonly prefix: readonly string[];
  readonly owner: { readonly uid: number; readonly gid: number } | null;
};

export function createBareSandbox(folder: string, toolsFolder: string, runUids: string | null): BareSandbox {
  const generatedFolder = join(folder, "generated");
  const workFolder = join(folder, "work");
  for (const place of [folder, generatedFolder, join(generatedFolder, "command"), workFolder]) {
    mkdirSync(place, { recursive: true });
    chmodSync(place, 0o755);
  }
  for (const name of ["passwd", "group", "hosts", "empty"]) {
    writeFileSync(join(generatedFolder, name), "");
    chmodSync(join(generatedFolder, name), 0o644);
  }
  const owner = ownerOf(runUids);
  if (owner !== null) chownSync(workFolder, owner.uid, owner.gid);
  const layout = { generatedFolder, toolsFolder, toolchains: [], workFolder, environment: {}, seccompDescriptor: null };
  return { prefix: ["bwrap", ...sandboxFlags(layout, [])], owner };
}

/** The last of the range: the product begins with the first. */
function ownerOf(runUids: string | null): BareSandbox["owner"] {
  if (process.geteuid?.() !== 0 || runUids === null) return null;
  const { last } = parseRunUids(runUids);
  return { uid: last, gid: last };
}
