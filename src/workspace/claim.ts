import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { CountersignError } from "../domain/index.ts";
import { randomName, type WorkspaceDeps } from "./host.ts";
import { isGone, readProcess } from "./process-tree.ts";
import { serviceFolder } from "./service-folder.ts";

export type Claim = { release(): Promise<void> };

/**
 * Takes `name` for this process alone, or answers null while a living process holds it. Each claimant writes a file of its
 * own, then looks: whoever sees no other living claim has it. Of two that come at once the later look sees both, so both
 * may step back but never both hold. A dead owner's file is removed under its own name, which nobody else ever uses.
 */
export async function tryClaim(deps: WorkspaceDeps, name: string): Promise<Claim | null> {
  const folder = serviceFolder(deps, "locks", 0o700);
  const own = `${name}.${process.pid}.${readProcess(process.pid)?.startTime ?? "0"}.${randomName(deps)}`;
  // Synchronous, as is all that a checkout asks of these small folders: each hop to another thread and back waits its turn twice.
  writeFileSync(join(folder, own), "", { flag: "wx", mode: 0o600 });
  const release = async (): Promise<void> => rmSync(join(folder, own), { force: true });
  for (const file of readdirSync(folder)) {
    if (!file.startsWith(`${name}.`) || file === own) continue;
    const [pid = "0", startTime = ""] = file.slice(name.length + 1).split(".");
    if (isGone(Number(pid), startTime)) {
      rmSync(join(folder, file), { force: true });
    } else {
      await release();
      return null;
    }
  }
  return { release };
}

/** Waits for `name`; at most `waitMs`, then LOCK_HELD. */
export async function claim(deps: WorkspaceDeps, name: string, waitMs: number, signal: AbortSignal): Promise<Claim> {
  for (let waited = 0; waited <= waitMs; ) {
    const taken = await tryClaim(deps, name);
    if (taken !== null) return taken;
    const pauseMs = 10 + Math.round(((deps.randomBytes(1)[0] ?? 0) / 255) * 40); // uneven, so that two don't step back in step
    await delay(pauseMs, undefined, { signal });
    waited += pauseMs;
  }
  throw new CountersignError("LOCK_HELD", `another process has held \`${name}\` for ${waitMs / 1000} s`);
}
