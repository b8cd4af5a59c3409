import { html } from "hono/html";
import type { Requester, RunId } from "../domain/index.ts";
import {
  type AuditedAction,
  type AuditedRun,
  type ListedRun,
  listRuns,
  readRunTexts,
  showRun,
} from "../ledger/index.ts";
import { allowedText, facts, type Html, page, type Show, table } from "./layout.ts";
import type { PageDeps } from "./page-deps.ts";

const runsListed = 50;

/** `/runs`: the newest runs. */
export async function runsPage({ store }: PageDeps, show: Show): Promise<Html> {
  const runs = await listRuns(store, runsListed);
  if (runs.length === 0) return page("Runs", html`<p>No runs yet.</p>`);
  const rows = runs.map((run) => [
    html`<a href="/runs/${run.run_id}"><code>${run.run_id}</code></a>`,
    show(run.repository),
    run.issue === null ? "local file" : `#${run.issue}`,
    run.status,
    run.conclusion ?? "-",
    run.started_at,
  ]);
  return page("Runs", table(["Run", "Repository", "Issue", "Status", "Conclusion", "Started"], rows));
}

/** What the end of a run sealed for people, and who asked for it. */
type Told = { readonly title?: string; readonly summary?: string; readonly cause?: string };

/** `/runs/:runId` in plain form (AUD-85, AUD-87); null where there is no such run. */
export async function runPage(deps: PageDeps, show: Show, runId: RunId): Promise<Html | null> {
  const audited = await showRun(deps.store, runId);
  const run = (await listRuns(deps.store, Number.MAX_SAFE_INTEGER)).find(({ run_id }) => run_id === runId);
  if (audited === null || run === undefined) return null;
  const told = await readJson<Told>(deps, runId, "summary");
  const requester = await readJson<Requester>(deps, runId, "requester");
  const content = html`${facts(runFacts(show, run, { told, requester }))}
<h2>Actions</h2>${actionTable(show, audited.actions)}
<h2>Not done</h2>${notDone(show, audited)}
<h2>Patch</h2><p><a href="/runs/${runId}/patch">download</a></p>
${told?.summary ? html`<h2>The model's own words</h2><pre>${show(told.summary)}</pre>` : ""}`;
  return page(`Run ${runId}`, content);
}

function runFacts(
  show: Show,
  run: ListedRun,
  { told, requester }: { readonly told: Told | null; readonly requester: Requester | null },
): readonly (readonly [string, Html | string])[] {
  const cause = told?.cause ? `: ${show(told.cause)}` : "";
  return [
    ["Repository", show(run.repository)],
    ["Issue", run.issue === null ? "a local file" : `#${run.issue}`],
    [
      "Asked for by",
      requester === null ? "erased or not on record" : show(`${requester.login} (${requester.permission})`),
    ],
    ["Started", run.started_at],
    ["State", run.status],
    ["Conclusion", `${run.conclusion ?? "none yet"}${cause}`],
    ["Attempt", String(run.attempt)],
    ["Pull request", run.pull_request === null ? "none" : show(`#${run.pull_request.number} ${run.pull_request.url}`)],
  ];
}

const actionLink = ({ action_id }: AuditedAction): Html =>
  html`<a href="/actions/${action_id}"><code>${action_id}</code></a>`;

function actionTable(show: Show, actions: readonly AuditedAction[]): Html {
  const rows = actions.map((action) => [
    actionLink(action),
    show(action.tool),
    allowedText(action.event),
    action.state,
    show(action.event.outcome),
    `${action.duration_ms} ms`,
  ]);
  return table(["Action", "Tool", "Allowed", "State", "Outcome", "Time"], rows);
}

/** Denied, invalid, expired, cancelled, never started: nothing is hidden because it failed. */
function notDone(show: Show, { actions }: AuditedRun): Html {
  const left = actions.filter(({ event }) => event.outcome !== "ok");
  if (left.length === 0) return html`<p>Every action was done.</p>`;
  const rows = left.map((action) => [
    actionLink(action),
    show(action.tool),
    show(action.event.outcome),
    show(action.policy_ids.join(", ")),
  ]);
  return table(["Action", "Tool", "Outcome", "Rules"], rows);
}

/** The patch of a run for a download; null where none was kept, or its key was erased. */
export async function patchOf(deps: PageDeps, runId: RunId): Promise<string | null> {
  const kept = (await readRunTexts(deps, runId, "patch")).at(-1);
  return kept?.bytes == null ? null : new TextDecoder().decode(kept.bytes);
}

async function readJson<Value>(deps: PageDeps, runId: RunId, field: string): Promise<Value | null> {
  const text = (await readRunTexts(deps, runId, field)).at(-1);
  return text?.bytes == null ? null : (JSON.parse(new TextDecoder().decode(text.bytes)) as Value);
}
