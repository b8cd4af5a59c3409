import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import type { Countersign, Ended, Environment } from "./countersign.ts";

/** What is typed once a text has been shown. */
export type Typed = { readonly after: string; readonly keys: string };

const bin = resolve(import.meta.dirname, "../../bin/countersign.mjs");
const terminal = join(import.meta.dirname, "on-terminal.py");

/** A command on a real terminal of its own; all it shows is in `stdout`. */
export function onTerminal(
  countersign: Countersign,
  argv: readonly string[],
  environment: Environment,
  typed: readonly Typed[],
): Promise<Ended> {
  const answers = JSON.stringify(typed.map(({ after, keys }) => [after, keys]));
  const command = [terminal, answers, process.execPath, bin, ...argv];
  const options = { cwd: countersign.folder, env: { ...countersign.environment, ...environment } };
  return new Promise((done) => {
    execFile("python3", command, options, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : Number(error.code);
      done({ exitCode, signal: null, stdout, stderr });
    });
  });
}
