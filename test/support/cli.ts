import { randomBytes } from "node:crypto";
import { type CliDeps, runCommandLine } from "../../src/cli/index.ts";
import { createRedactor } from "../../src/domain/index.ts";

/** What one command line told and ended with. */
export type CommandLine = {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
};

const notAsked = (): never => {
  throw new Error("this command asks for nothing of the kind");
};

/** Runs a command line in this process, with only these of its dependencies. */
export async function commandLine(
  argv: readonly string[],
  given: Partial<CliDeps>,
  onErr: (text: string) => void = () => undefined,
): Promise<CommandLine> {
  const told = { out: "", err: "" };
  const exitCode = await runCommandLine(argv, {
    terminal: {
      out: (text) => {
        told.out += text;
      },
      err: (text) => {
        told.err += text;
        onErr(text);
      },
      isLive: false,
      redact: createRedactor([]).redact,
      isOutTerminal: false,
      columns: 80,
      readAll: notAsked,
      ask: null,
    },
    version: "0.0.0",
    clock: () => 0,
    randomBytes,
    signal: new AbortController().signal,
    folder: "/",
    requester: { id: "local:test", login: "test", permission: "admin" },
    openRecords: notAsked,
    policiesFolder: "/",
    openRuns: notAsked,
    openPublishing: notAsked,
    openService: notAsked,
    register: notAsked,
    demo: notAsked,
    examine: notAsked,
    bench: notAsked,
    toolSchemas: notAsked,
    schemasFolder: "/",
    ...given,
  });
  return { exitCode, ...told };
}
