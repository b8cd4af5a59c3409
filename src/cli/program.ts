import { Command, CommanderError } from "commander";
import { CountersignError, errorCatalogue, isCountersignError } from "../domain/index.ts";
import { addAuditCommands } from "./audit-commands.ts";
import { addBenchCommand } from "./bench-command.ts";
import type { CliDeps } from "./cli-deps.ts";
import { addDemoCommand } from "./demo-command.ts";
import { addDoctorCommand } from "./doctor-command.ts";
import { addKillSwitchCommands } from "./kill-switch-commands.ts";
import { addPolicyCommands } from "./policy-commands.ts";
import { addRunCommand } from "./run-command.ts";
import { addRunsCommands } from "./runs-commands.ts";
import { addSchemasCommand } from "./schemas-command.ts";
import { addServeCommand } from "./serve-command.ts";
import { plain } from "./terminal.ts";

/** Bad usage or configuration, and what keeps anything from being begun: nothing was done, the set-up is to be mended. */
const usageCodes = new Set([
  "USAGE",
  "CONFIG_INVALID",
  "ALREADY_REGISTERED",
  "POLICY_INVALID",
  "SETTINGS_INVALID",
  "DATABASE_UNREACHABLE",
  "GITHUB_ARCHIVED",
  "GITHUB_EMPTY",
  "GITHUB_FORBIDDEN",
  "GITHUB_NOT_FOUND",
  "GITHUB_SUSPENDED",
  "GITHUB_UNAUTHORIZED",
  "GIT_MISSING",
  "ISSUE_EMPTY",
  "ISSUE_UNREADABLE",
  "NOT_A_REPOSITORY",
  "PAUSED",
  "RUN_UID_UNUSABLE",
  "STORE_PATH_UNREACHABLE",
  "BUBBLEWRAP_MISSING",
]);

/**
 * Runs one command line, without the program's name. Answers with the exit code: 0 done, 1 the thing checked does not hold
 * or the run ended otherwise, 2 bad usage or configuration. Never throws: an error is one line on standard error.
 */
export async function runCommandLine(argv: readonly string[], deps: CliDeps): Promise<number> {
  let exitCode = 0;
  const program = createProgram(deps, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync([...argv], { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && isHelp(error)) return error.exitCode === 0 ? 0 : 2;
    deps.terminal.err(plain(`countersign: ${errorLine(usageErrorOf(error, nameOf(program, argv)))}\n`));
    if (error instanceof CommanderError) return 2;
    return isCountersignError(error) && usageCodes.has(error.code) ? 2 : 1;
  }
}

/** Help and version have been printed then. */
const isHelp = ({ code, exitCode }: CommanderError): boolean => exitCode === 0 || code === "commander.help";

/** Bad usage in our form, with the command whose help says more; any other error as it is. */
function usageErrorOf(error: unknown, command: string): unknown {
  const remedy = `see \`${command} --help\``;
  if (error instanceof CommanderError) {
    const message = error.message.replace(/^error: /, "").replace(/'([^']*)'/, "`$1`");
    return new CountersignError("USAGE", message, { remedy });
  }
  if (!isCountersignError(error, "USAGE") || error.remedy !== errorCatalogue.USAGE.remedy) return error;
  return new CountersignError("USAGE", error.message, { cause: error, remedy });
}

/** The command that a command line means, as far as there is one. */
function nameOf(program: Command, argv: readonly string[]): string {
  const [first, ...rest] = argv;
  const inner = program.commands.find((command) => command.name() === first);
  return inner === undefined ? program.name() : `${program.name()} ${nameOf(inner, rest)}`;
}

/** One line: what was got and what is expected, then what to do. A bug shows where it happened instead. */
export function errorLine(error: unknown): string {
  if (error instanceof CountersignError)
    return `${error.message}; ${error.remedy} [${error.code}]`.replaceAll("\n", " ");
  return `a fault in Countersign itself: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

function createProgram(deps: CliDeps, finish: (exitCode: number) => void): Command {
  const program = new Command("countersign")
    .description(
      "turns an issue into a verified change, with every action authorized, executed and recorded on its own",
    )
    .version(deps.version)
    .exitOverride()
    .configureOutput({ writeOut: deps.terminal.out, writeErr: deps.terminal.err, outputError: () => undefined });
  addServeCommand(program, deps);
  addDemoCommand(program, deps, finish);
  addRunCommand(program, deps, finish);
  addDoctorCommand(program, deps, finish);
  addAuditCommands(program, deps, finish);
  addPolicyCommands(program, deps, finish);
  addRunsCommands(program, deps);
  addKillSwitchCommands(program, deps);
  addBenchCommand(program, deps, finish);
  addSchemasCommand(program, deps);
  return program;
}
