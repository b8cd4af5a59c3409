import { resolve } from "node:path";
import { readConfig, withKnownSecrets } from "../../src/config.ts";
import { createRedactor } from "../../src/domain/index.ts";
import { runCommand } from "../../src/main.ts";

type Environment = Readonly<Record<string, string>>;

const root = resolve(import.meta.dirname, "../..");

/**
 * A command as `main.ts` puts it together, in this process: a fraction of the time of one of its own, for tests that are
 * not about the process. Signals, the terminal and the environment's own variables are what it does not have.
 */
export async function commandInProcess(
  { folder, environment }: { readonly folder: string; readonly environment: Environment },
  argv: readonly string[],
  more: Environment = {},
) {
  const redactor = createRedactor([]);
  const told = { stdout: "", stderr: "" };
  const place = { root, folder, isRoot: process.geteuid?.() === 0 };
  const terminal = {
    out: (text: string) => {
      told.stdout += redactor.redact(text);
    },
    err: (text: string) => {
      told.stderr += redactor.redact(text);
    },
    redact: redactor.redact,
    isLive: false,
    isOutTerminal: false,
    columns: 80,
    readAll: () => Promise.resolve(Buffer.alloc(0)),
    ask: null,
  };
  const load = () => withKnownSecrets(readConfig({ ...environment, ...more }, place), redactor);
  const exitCode = await runCommand({ argv, folder, load, redactor, terminal }, new AbortController().signal);
  return { exitCode, signal: null as NodeJS.Signals | null, ...told };
}
