import { plain, type Terminal } from "./terminal.ts";

/** A patch byte for byte for a file or a pipe; on a terminal its control characters are shown instead of obeyed. */
export function patchText(terminal: Pick<Terminal, "isOutTerminal">, patch: string): string {
  return terminal.isOutTerminal ? plain(patch) : patch;
}
