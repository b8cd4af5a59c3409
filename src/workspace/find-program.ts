import { accessSync, constants } from "node:fs";
import { join } from "node:path";

/** The absolute path of a program in `searchPath`, or null. */
export function findProgram(searchPath: string, name: string): string | null {
  for (const folder of searchPath.split(":").filter((part) => part.startsWith("/"))) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // looked for in the next folder
    }
  }
  return null;
}
