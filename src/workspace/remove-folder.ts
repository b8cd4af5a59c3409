import { CountersignError } from "../domain/index.ts";
import { removeFolder as remove } from "../store/index.ts";

/** Removes a folder that a sandbox has filled, or throws WORKSPACE_POISONED. */
export async function removeFolder(folder: string): Promise<void> {
  if (await remove(folder)) return;
  throw new CountersignError("WORKSPACE_POISONED", `\`${folder}\` could not be removed`, {
    remedy: "remove it by hand once nothing uses it",
  });
}
