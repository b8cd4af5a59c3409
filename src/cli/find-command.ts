import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import {
  CountersignError,
  canonicalBytes,
  late,
  parseRunId,
  parseStrictJson,
  parseTraceId,
  type RunId,
  type TraceId,
} from "../domain/index.ts";
import type { ActionFilter, FoundAction, FoundActions } from "../ledger/index.ts";
import { allowedText } from "./audited-view.ts";
import { type CliDeps, printJson } from "./cli-deps.ts";
import { sinceForms, sinceMsOf } from "./since.ts";
import { plain, table } from "./terminal.ts";

const findActions = late(async () => (await import("../ledger/index.ts")).findActions);

type FindOptions = {
  readonly run?: string;
  readonly trace?: string;
  readonly arguments?: string;
  readonly actor?: string;
  readonly tool?: string;
  readonly since?: string;
  readonly json?: true;
};

/** More than anybody reads; a narrower filter finds the rest. */
const mostFound = 1000;
/** Without any filter. */
const newestShown = 50;

export function addFindCommand(audit: Command, deps: CliDeps, finish: (exitCode: number) => void): void {
  audit
    .command("find")
    .description(
      `actions on record that agree with all that is asked, newest first; asked nothing, the newest ${newestShown}`,
    )
    .option("--run <run>", "of one run")
    .option("--trace <trace>", "of the run with this trace id, as in the trailer `Countersign-Trace`")
    .option("--arguments <file>", "with exactly these arguments: a JSON file, or `-` for standard input")
    .option("--actor <actor>", "proposed by: `run` (any model), `run:<id>`, `system`, `person:<reference>`")
    .option("--tool <tool>", "of one tool")
    .option("--since <time>", `proposed since: ${sinceForms}`)
    .option("--json", "print one JSON array")
    .action(async (options: FindOptions) => finish(await find(deps, options)));
}

async function find(deps: CliDeps, options: FindOptions): Promise<number> {
  const filter = await readFilter(deps, options);
  const isAsked = Object.values(filter).some((value) => value !== null);
  await using records = await deps.openRecords();
  const found = await findActions(records, filter, isAsked ? mostFound : newestShown);
  if (options.json) printJson(deps.terminal, found.actions);
  else deps.terminal.out(plain(foundText(found.actions)));
  deps.terminal.err(plain(remarks(found)));
  return found.contradictory.length === 0 ? 0 : 1;
}

function foundText(actions: readonly FoundAction[]): string {
  if (actions.length === 0) return "no action on record agrees\n";
  const rows = actions.map(({ action_id, run_id, tool, event, states }) => [
    action_id,
    run_id ?? "-",
    states[0]?.time ?? "-",
    tool,
    allowedText(event.allowed),
    event.outcome,
  ]);
  return table([["ACTION", "RUN", "PROPOSED", "TOOL", "ALLOWED", "OUTCOME"], ...rows]);
}

/** What the list does not tell; on standard error, so that the list can be read by a program. */
function remarks({ isCut, actions, untestable, contradictory }: FoundActions): string {
  const lines = [
    ...(isCut ? [`these are the newest ${actions.length}: there are more, narrow the search to see them`] : []),
    ...untestable.map((runId) => `run ${runId} can't be tested: its keys are erased or missing`),
    ...contradictory.map(
      (id) => `action ${id} has the digest of these arguments and commits to others: run \`countersign audit verify\``,
    ),
  ];
  return lines.map((line) => `countersign: ${line}\n`).join("");
}

async function readFilter(deps: CliDeps, options: FindOptions): Promise<ActionFilter> {
  const { run, trace, actor, tool, since } = options;
  return {
    runId: run === undefined ? null : runIdOf(run),
    traceId: trace === undefined ? null : traceIdOf(trace),
    actor: actor === undefined ? null : actorOf(actor),
    tool: tool ?? null,
    sinceMs: since === undefined ? null : sinceMsOf(since, deps.clock()),
    canonical: options.arguments === undefined ? null : await readArguments(deps, options.arguments),
  };
}

function runIdOf(text: string): RunId {
  const runId = parseRunId(text);
  if (runId === null) throw new CountersignError("USAGE", `--run: \`${text}\` is no run id`, { remedy: listRuns });
  return runId;
}
const listRuns = "list the runs with `countersign runs list`";

function traceIdOf(text: string): TraceId {
  const traceId = parseTraceId(text);
  if (traceId !== null) return traceId;
  throw new CountersignError("USAGE", `--trace: \`${text}\` is no trace id: expected 32 lower-case hex digits`);
}

function actorOf(text: string): string {
  if (/^(system|run|person)$|^run:[0-9a-f-]{36}$|^person:[\w-]{1,64}$/.test(text)) return text;
  const expected = "`run`, `run:<id>`, `system` or `person:<reference>`";
  throw new CountersignError("USAGE", `--actor: got \`${text}\`, expected ${expected}`);
}

async function readArguments(deps: CliDeps, file: string): Promise<Uint8Array> {
  const bytes = await readInput(deps, file);
  const gate = parseStrictJson(bytes);
  if (gate.kind === "value") return canonicalBytes(gate.value);
  throw new CountersignError("USAGE", `\`${file}\` is not plain JSON: ${gate.code} at offset ${gate.position}`);
}

function readInput(deps: CliDeps, file: string): Promise<Uint8Array> {
  if (file === "-") return deps.terminal.readAll();
  return readFile(resolve(deps.folder, file)).catch((cause: unknown) => {
    throw new CountersignError("USAGE", `--arguments: \`${file}\` can't be read`, { cause });
  });
}
