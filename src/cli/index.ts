/**
 * The command line: one file a command.
 * Door: `runCommandLine`, with all that the commands need given in `deps`.
 * Never: decides anything, reads the environment, or touches the process itself.
 */
export type { Check, CliDeps, Demo, Records } from "./cli-deps.ts";
export { errorLine, runCommandLine } from "./program.ts";
export type { Terminal } from "./terminal.ts";
