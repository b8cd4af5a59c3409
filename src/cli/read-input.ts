import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CountersignError } from "../domain/index.ts";
import type { CliDeps } from "./cli-deps.ts";

/** The bytes of a file that was named on the command line; `-` is standard input. Throws `NOT_FOUND`. */
export function readInput(deps: CliDeps, file: string): Promise<Uint8Array> {
  if (file === "-") return deps.terminal.readAll();
  return readFile(resolve(deps.folder, file)).catch((cause: unknown) => {
    throw new CountersignError("NOT_FOUND", `\`${file}\` can't be read`, { cause });
  });
}
