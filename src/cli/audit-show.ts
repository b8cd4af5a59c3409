import {
  CountersignError,
  cutRedacted,
  type JsonObject,
  parseActionId,
  parseRunId,
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
} from "../ledger/index.ts";
import { authorityText, notDoneText } from "./action-account.ts";
import { auditedText } from "./audited-view.ts";
import { type CliDeps, printJson, type Records } from "./cli-deps.ts";
import { indented, inLine, plain, type Terminal } from "./terminal.ts";

export async function show(deps: CliDeps, id: string, isJson: boolean): Promise<void> {
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
