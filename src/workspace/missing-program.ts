import type { ExecResult } from "../domain/index.ts";
import { searchPathInside, type Toolchain } from "./sandbox-flags.ts";

/** The program that a command wanted and the sandbox lacks, and where it was looked for. */
export type MissingProgram = { readonly name: string; readonly lookedIn: readonly string[] };

/** How bash, dash, make and env word it; each gives 127 (POSIX.1-2024, Shell Command Language, 2.8.2), make itself 2. */
const wordings = [
  /(?:^|\n)[^\n]*?: line \d+: ([^\n:]+): command not found/,
  /(?:^|\n)[^\n]*?: \d+: ([^\n:]+): not found/,
  /(?:^|\n)make(?:\[\d+\])?: ([^\n:]+): No such file or directory/,
  /(?:^|\n)(?:[^\n]*\/)?env: ['‘"]?([^\n:'’"]+)['’"]?: No such file or directory/,
];

/**
 * Names the program that a setup or verify command lacked (SEC-44, ACI-29), or null. A guess from the output: it makes a
 * message better and decides nothing.
 */
export function missingProgram(
  result: Pick<ExecResult, "exitCode" | "output">,
  toolchains: readonly Toolchain[],
): MissingProgram | null {
  if (result.exitCode !== 127 && result.exitCode !== 2) return null;
  const text = Buffer.from(result.output).toString("utf8").slice(-65_536);
  for (const wording of result.exitCode === 127 ? wordings : wordings.slice(1)) {
    const name = wording.exec(text)?.[1];
    if (name !== undefined) return { name: name.trim(), lookedIn: searchPathInside(toolchains) };
  }
  return null;
}
