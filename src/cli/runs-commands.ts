import type { Command } from "commander";
import { CountersignError, late, parseRunId, type RunId } from "../domain/index.ts";
import { auditedText } from "./audited-view.ts";
import { type CliDeps, printJson } from "./cli-deps.ts";
import { patchText } from "./patch-text.ts";
import { indented, inLine, plain, table } from "./terminal.ts";

const listRuns = late(async () => (await import("../ledger/index.ts")).listRuns);
const readRunTexts = late(async () => (await import("../ledger/index.ts")).readRunTexts);
const showRun = late(async () => (await import("../ledger/index.ts")).showRun);
const requestStop = late(async () => (await import("../run/index.ts")).requestStop);

const runsListed = 50;

export function addRunsCommands(program: Command, deps: CliDeps): void {
  const runs = program.command("runs").description("the runs on record");
  runs
    .command("list")
    .description(`the newest ${runsListed} runs`)
    .option("--json", "print one JSON array")
    .action((options: { readonly json?: true }) => list(deps, options.json === true));
  runs
    .command("show <run>")
    .description("one run: its end, its actions and what was not done")
    .option("--json", "print one JSON object")
    .action((run: string, options: { readonly json?: true }) => show(deps, run, options.json === true));
  runs
    .command("patch <run>")
    .description("print the patch of a run; it applies with `git apply`")
    .action((run: string) => patch(deps, run));
  runs
    .command("cancel <run>")
    .description("stop a run before its next action; its work so far is kept")
    .action((run: string) => cancel(deps, run));
}

async function list(deps: CliDeps, isJson: boolean): Promise<void> {
  await using records = await deps.openRecords();
  const found = await listRuns(records.store, runsListed);
  if (isJson) return printJson(deps.terminal, found);
  if (found.length === 0) return deps.terminal.out("no runs yet\n");
  const rows = found.map((run) => [run.run_id, run.started_at, run.status, run.conclusion ?? "-", run.repository]);
  deps.terminal.out(plain(table([["RUN", "STARTED", "STATUS", "CONCLUSION", "REPOSITORY"], ...rows])));
}

async function show(deps: CliDeps, text: string, isJson: boolean): Promise<void> {
  const runId = runIdOf(text);
  await using records = await deps.openRecords();
  const [run] = (await listRuns(records.store, Number.MAX_SAFE_INTEGER)).filter(({ run_id }) => run_id === runId);
  const audited = await showRun(records.store, runId);
  if (run === undefined || audited === null) throw unknownRun(text);
  const [summary] = await readRunTexts(records, runId, "summary");
  const told = summary?.bytes == null ? null : (JSON.parse(new TextDecoder().decode(summary.bytes)) as Told);
  if (isJson) return printJson(deps.terminal, { ...run, ...told, actions: audited.actions });
  const lines = [
    `run         ${run.run_id}`,
    `repository  ${run.repository}`,
    `started     ${run.started_at}`,
    `conclusion  ${run.conclusion ?? run.status}${told === null ? "" : `: ${inLine(told.cause)}`}`,
    ...(run.pull_request === null
      ? []
      : [`opened      pull request #${run.pull_request.number}, ${inLine(run.pull_request.url)}`]),
    ...(told === null || told.title === ""
      ? []
      : [
          `title       ${inLine(told.title)} (the model's)`,
          `summary     ${indented(deps.terminal.redact(told.summary))}`,
        ]),
    "",
    auditedText(audited.actions),
  ];
  return deps.terminal.out(plain(lines.join("\n")));
}

/** What the end of a run sealed for people. */
type Told = { readonly title: string; readonly summary: string; readonly cause: string };

async function patch(deps: CliDeps, text: string): Promise<void> {
  const runId = runIdOf(text);
  await using records = await deps.openRecords();
  const kept = (await readRunTexts(records, runId, "patch")).at(-1);
  if (kept === undefined) throw unknownRun(text);
  if (kept.bytes === null) throw new CountersignError("NOT_FOUND", `the patch of run \`${text}\` was erased`);
  if (kept.bytes.byteLength === 0)
    throw new CountersignError("NOT_FOUND", `run \`${text}\` changed nothing`, {
      remedy: "see why with `countersign runs show <run>`",
    });
  deps.terminal.out(patchText(deps.terminal, new TextDecoder().decode(kept.bytes)));
}

async function cancel(deps: CliDeps, text: string): Promise<void> {
  const runId = runIdOf(text);
  await using records = await deps.openRecords();
  const isAsked = await requestStop({ ...records, ...deps }, runId, "cancel_command");
  const said = isAsked ? "is being cancelled" : "has ended, or is being cancelled already";
  deps.terminal.out(`run ${runId} ${said}: \`countersign runs show ${runId}\`\n`);
}

function runIdOf(text: string): RunId {
  const runId = parseRunId(text);
  if (runId === null) throw unknownRun(text);
  return runId;
}

const unknownRun = (text: string): CountersignError =>
  new CountersignError("NOT_FOUND", `there is no run \`${text}\` on record, or it has not ended`);
