import { html } from "hono/html";
import type { ActionId } from "../domain/index.ts";
import { type AuditedAction, adviceOf, type OpenedText, readActionTexts, showAction } from "../ledger/index.ts";
import { allowedText, facts, type Html, page, type Show, table } from "./layout.ts";
import type { PageDeps } from "./page-deps.ts";

/** Characters of one text; the whole is on the command line, `countersign audit show`. */
const longestTextShown = 20_000;

/** `/actions/:actionId` in plain form (AUD-86); null where there is no such action. */
export async function actionPage(deps: PageDeps, show: Show, actionId: ActionId): Promise<Html | null> {
  const found = await showAction(deps.store, actionId);
  const [action] = found?.actions ?? [];
  if (found === null || action === undefined) return null;
  const texts = await readActionTexts(deps, actionId);
  const content = html`${facts([...actionFacts(show, found.run_id, action), ...adviceFacts(show, texts)])}
<div class="sides">${side(show, "Proposed", texts, "raw")}${side(show, "Validated", texts, "arguments")}${side(
    show,
    "Effect",
    texts,
    "result",
  )}</div>
<h2>States</h2>${statesTable(show, action)}`;
  return page(`Action ${actionId}`, content);
}

function actionFacts(
  show: Show,
  runId: string | null,
  action: AuditedAction,
): readonly (readonly [string, Html | string])[] {
  const { event, policy_ids: policyIds } = action;
  const allowed = allowedText(event);
  return [
    ["Run", runId === null ? "none" : html`<a href="/runs/${runId}"><code>${runId}</code></a>`],
    ["Tool", show(action.tool)],
    ["By", show(event.actor)],
    ["Allowed", policyIds.length === 0 ? allowed : show(`${allowed}, by ${policyIds.join(", ")}`)],
    ["Outcome", show(`${event.outcome} (${action.state})`)],
    ["Digest of the arguments", html`<code>${show(action.arguments_digest ?? "none")}</code>`],
  ];
}

/** What the deciding policies of the newest decision advise (AUD-30). */
function adviceFacts(show: Show, texts: readonly OpenedText[]): readonly (readonly [string, string])[] {
  const advice = texts.findLast(({ field }) => field === "advice");
  if (advice === undefined) return [];
  return Object.entries(adviceOf(advice)).map(([id, text]) => ["Advice", show(`${id}: ${text}`)]);
}

function side(show: Show, title: string, texts: readonly OpenedText[], field: string): Html {
  return html`<section><h2>${title}</h2><pre>${show(textOf(texts, field), longestTextShown)}</pre></section>`;
}

function textOf(texts: readonly OpenedText[], field: string): string {
  const found = texts.findLast((text) => text.field === field);
  if (found === undefined) return "none";
  return found.bytes === null ? "erased" : new TextDecoder().decode(found.bytes);
}

function statesTable(show: Show, { states }: AuditedAction): Html {
  const rows = states.map(({ state, time, index, attempt, try: number, evidence }) => [
    state,
    time,
    String(index),
    number === null ? String(attempt) : `${attempt}, try ${number}`,
    html`<code>${show(JSON.stringify(evidence))}</code>`,
  ]);
  return table(["State", "Time", "Entry", "Attempt", "Evidence"], rows);
}
