import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { z } from "zod";
import {
  argumentsDigest,
  type Checkpoint,
  CountersignError,
  canonicalBytes,
  cutRedacted,
  type JsonObject,
  parseActionId,
  parseRunId,
  parseStrictJson,
  type Requester,
} from "../domain/index.ts";
import {
  type AuditedRun,
  adviceOf,
  type OpenedText,
  readActionTexts,
  readRunTexts,
  showAction,
  showApproval,
  showRun,
  verifyStored,
} from "../ledger/index.ts";
import { authorityText, notDoneText } from "./action-account.ts";
import { auditedText } from "./audited-view.ts";
import { type CliDeps, printJson, type Records } from "./cli-deps.ts";
import { addFindCommand } from "./find-command.ts";
import { addResolveCommand } from "./resolve-command.ts";
import { indented, inLine, plain, type Terminal } from "./terminal.ts";

type JsonOption = { readonly json?: true };

export function addAuditCommands(program: Command, deps: CliDeps, finish: (exitCode: number) => void): void {
  const audit = program.command("audit").description("what was proposed, decided and done, offline");
  audit
    .command("show <id>")
    .description("a run's actions, or one action, or the one of an approval: proposed, decision, states, effect")
    .option("--json", "print one JSON object")
    .action((id: string, options: JsonOption) => show(deps, id, options.json === true));
  addFindCommand(audit, deps, finish);
  addResolveCommand(audit, deps);
  audit
    .command("verify")
    .description("is the ledger whole and unchanged? exit 1 on any finding")
    .option("--checkpoint <file...>", "JSON `{origin, size, rootHash}` kept from earlier: then a cut end is found too")
    .option("--json", "print one JSON object")
    .action(async (options: JsonOption & { readonly checkpoint?: readonly string[] }) =>
      finish(await verify(deps, options.checkpoint ?? [], options.json === true)),
    );
  audit
    .command("hash <file>")
    .description("canonical length of a JSON file (`-`: standard input), and its digest in a run")
    .option("--run <run>", "the run whose `arguments_digest` to compute")
    .option("--json", "print one JSON object")
    .action((file: string, options: JsonOption & { readonly run?: string }) => hash(deps, file, options));
}

async function show(deps: CliDeps, id: string, isJson: boolean): Promise<void> {
  await using records = await deps.openRecords();
  const found = await find(records, id);
  if (found === null) {
    throw new CountersignError("NOT_FOUND", `there is no run, action or approval \`${id}\` in the ledger`, {
      remedy:
        "list runs with `countersign runs list`, actions with `countersign audit find`; `countersign audit show <action>` names its approval",
    });
  }
  if (isJson) return printJson(deps.terminal, found as JsonObject);
  const [action] = found.actions;
  const isOne = found.run_id !== id && action !== undefined;
  deps.terminal.out(
    plain(isOne ? await actionText(deps.terminal, records, found, action) : auditedText(found.actions)),
  );
}

async function find({ store }: Records, id: string): Promise<AuditedRun | null> {
  const runId = parseRunId(id);
  const actionId = parseActionId(id);
  const run = runId === null ? null : await showRun(store, runId);
  if (run !== null || actionId === null) return run;
  return (await showAction(store, actionId)) ?? showApproval(store, actionId);
}

const longestTextShown = 4000;

/** Who asked for the run. */
async function requesterText(records: Records, { run_id }: AuditedRun): Promise<string> {
  const runId = parseRunId(run_id ?? "");
  const [sealed] = runId === null ? [] : await readRunTexts(records, runId, "requester");
  if (sealed === undefined) return "nobody on record";
  if (sealed.bytes === null) return "erased";
  const { login, permission } = JSON.parse(new TextDecoder().decode(sealed.bytes)) as Requester;
  return inLine(`${login} (${permission})`);
}

/** The newest decision's advice, a line for each policy that has some. */
function adviceLines(texts: readonly OpenedText[]): readonly string[] {
  const advice = texts.findLast(({ field }) => field === "advice");
  if (advice === undefined) return [];
  return Object.entries(adviceOf(advice)).map(([id, text]) => `advice      ${inLine(`${id}: ${text}`)}`);
}

async function actionText(
  terminal: Pick<Terminal, "redact">,
  records: Records,
  run: AuditedRun,
  action: AuditedRun["actions"][number],
): Promise<string> {
  const actionId = parseActionId(action.action_id);
  const texts = actionId === null ? [] : await readActionTexts(records, actionId);
  const text = (field: string): string => {
    const found = texts.find((sealed) => sealed.field === field);
    if (found === undefined) return "none";
    if (found.bytes === null) return "erased";
    return indented(cutRedacted(terminal.redact(new TextDecoder().decode(found.bytes)), longestTextShown, " (cut)"));
  };
  return [
    `action      ${action.action_id}  ${inLine(action.tool)}`,
    `asked by    ${await requesterText(records, run)}`,
    `proposed    ${text("raw")}`,
    `validated   ${text("arguments")}`,
    `authorized  ${authorityText(action)}`,
    ...adviceLines(texts),
    `effect      ${action.event.outcome} (${action.state})`,
    `not done    ${notDoneText(action) ?? "nothing: it was done as asked"}`,
    `result      ${text("result")}`,
    `digest      ${action.arguments_digest ?? "-"}`,
    "states",
    ...action.states.map(({ state, time, index }) => `  ${time}  entry ${index}  ${state}`),
    "",
  ].join("\n");
}

const CheckpointFile = z.strictObject({ origin: z.string(), size: z.int().nonnegative(), rootHash: z.base64() });

async function verify(deps: CliDeps, files: readonly string[], isJson: boolean): Promise<number> {
  const checkpoints = await Promise.all(files.map((file) => readCheckpoint(deps, file)));
  await using records = await deps.openRecords();
  const { ok, size, rootHash, reach, findings } = await verifyStored(records, checkpoints);
  if (isJson) {
    const rows = findings.map(({ code, index, message }) => ({ code, index, message }));
    printJson(deps.terminal, { ok, size, root_hash: rootHash, reach, findings: rows });
    return ok ? 0 : 1;
  }
  const lines = [
    `${ok ? "verified" : "BROKEN"}: ${size} entries, root ${rootHash}`,
    reach === null
      ? "no earlier checkpoint was given (--checkpoint): neither a cut end nor a rewritten history can be excluded"
      : `extends the checkpoint of size ${reach}`,
    ...findings.map(({ code, index, message }) => `  ${code} at ${index ?? "-"}: ${message}`),
    "",
  ];
  deps.terminal.out(plain(lines.join("\n")));
  return ok ? 0 : 1;
}

async function readCheckpoint(deps: CliDeps, file: string): Promise<Checkpoint> {
  const text = await readInput(deps, file);
  const parsed = CheckpointFile.safeParse(parseOrNull(text));
  if (parsed.success) return parsed.data;
  throw new CountersignError("USAGE", `\`${file}\` is no checkpoint: expected \`{"origin", "size", "rootHash"}\``);
}

async function hash(deps: CliDeps, file: string, options: JsonOption & { readonly run?: string }): Promise<void> {
  const gate = parseStrictJson(await readInput(deps, file));
  if (gate.kind === "refused") {
    throw new CountersignError("USAGE", `\`${file}\` is not plain JSON: ${gate.code} at offset ${gate.position}`);
  }
  const canonical = canonicalBytes(gate.value);
  const digest = options.run === undefined ? null : await digestInRun(deps, options.run, canonical);
  if (options.json) {
    return printJson(deps.terminal, { canonical_bytes: canonical.byteLength, arguments_digest: digest });
  }
  deps.terminal.out(`${canonical.byteLength} bytes in canonical form\n${digest === null ? "" : `${digest}\n`}`);
}

async function digestInRun(deps: CliDeps, run: string, canonical: Uint8Array): Promise<string> {
  const runId = parseRunId(run);
  const unknown = new CountersignError("NOT_FOUND", `there is no run \`${run}\` in the ledger`);
  if (runId === null) throw unknown;
  await using records = await deps.openRecords();
  const runKey = await records.keys.runKey(runId).catch(async (error: unknown) => {
    throw (await showRun(records.store, runId)) === null ? unknown : error; // a run of ours may have lost its keys
  });
  return argumentsDigest(runKey, canonical);
}

function readInput(deps: CliDeps, file: string): Promise<Uint8Array> {
  if (file === "-") return deps.terminal.readAll();
  return readFile(resolve(deps.folder, file)).catch((cause: unknown) => {
    throw new CountersignError("NOT_FOUND", `\`${file}\` can't be read`, { cause });
  });
}

function parseOrNull(bytes: Uint8Array): unknown {
  const gate = parseStrictJson(bytes);
  return gate.kind === "value" ? gate.value : null;
}
