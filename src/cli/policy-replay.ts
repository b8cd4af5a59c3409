import { resolve } from "node:path";
import { CountersignError, type JsonObject, parseActionId } from "../domain/index.ts";
import { createCatalogue } from "../gateway/index.ts";
import { type RecordedDecision, readActionEntries, readDecisionsOn, readDecisionsSince } from "../ledger/index.ts";
import type { PolicyEngine } from "../policy/index.ts";
import { type Answer, createReplay, type Replay, type Replayed, recordedAnswer } from "../run/index.ts";
import { type CliDeps, printJson, type Records } from "./cli-deps.ts";
import { explanationJson, explanationText } from "./explain-view.ts";
import { loadSet, policyDepsOf } from "./load-set.ts";
import { sinceMsOf } from "./since.ts";
import { inLine, plain } from "./terminal.ts";

type JsonOption = { readonly json?: true };

const replayOf = (deps: CliDeps, records: Records): Replay =>
  createReplay({ ...records, catalogue: createCatalogue(), policies: policyDepsOf(deps) });

export async function explain(deps: CliDeps, text: string, isJson: boolean): Promise<number> {
  await using records = await deps.openRecords();
  const actionId = parseActionId(text);
  const entries = actionId === null ? [] : await readActionEntries(records.store, actionId);
  if (actionId === null || entries.length === 0) {
    throw new CountersignError("NOT_FOUND", `there is no action \`${text}\` in the ledger`, {
      remedy: "list actions with `countersign audit find`, or those of one run with `countersign audit show <run>`",
    });
  }
  const again = replayOf(deps, records);
  const decisions = await readDecisionsOn(records, actionId);
  const explained: { recorded: RecordedDecision; replayed: Replayed }[] = [];
  for (const recorded of decisions) explained.push({ recorded, replayed: await again.again(recorded) });
  if (isJson) printJson(deps.terminal, { action_id: actionId, decisions: explained.map(explanationJson) });
  else
    deps.terminal.out(
      explained.length === 0
        ? noDecision
        : plain(explained.map((one) => explanationText(deps.terminal, one)).join("\n")),
    );
  return explained.every(({ replayed }) => replayed.kind === "reproduced") ? 0 : 1;
}

const noDecision = "nothing was decided on this action: it ended before any policy was asked\n";

type Counts = Record<Replayed["kind"], number>;
type Difference = { readonly recorded: RecordedDecision; readonly now: Answer | null; readonly why: string };

export async function replay(
  deps: CliDeps,
  { since, with: folder, json }: JsonOption & { readonly since: string; readonly with?: string },
): Promise<number> {
  const sinceMs = sinceMsOf(since, deps.clock());
  const other = folder === undefined ? null : await loadSet(deps, resolve(deps.folder, folder));
  await using records = await deps.openRecords();
  const decisions = readDecisionsSince(records, sinceMs);
  const { counts, differences } = await compare(replayOf(deps, records), decisions, other);
  if (json) printJson(deps.terminal, replayJson(counts, differences));
  else deps.terminal.out(plain(replayText(counts, differences, other !== null)));
  if (other !== null) return 0;
  return counts.different + counts.unreadable === 0 ? 0 : 1;
}

async function compare(
  again: Replay,
  decisions: AsyncIterable<RecordedDecision>,
  other: PolicyEngine | null,
): Promise<{ readonly counts: Counts; readonly differences: readonly Difference[] }> {
  const counts: Counts = { reproduced: 0, different: 0, erased: 0, unreadable: 0 };
  const differences: Difference[] = [];
  for await (const recorded of decisions) {
    const { kind, ...difference } =
      other === null ? await sameSet(again, recorded) : await otherSet(again, other, recorded);
    counts[kind] += 1;
    if (kind !== "reproduced" && kind !== "erased") differences.push({ recorded, ...difference });
  }
  return { counts, differences };
}

type Compared = { readonly kind: Replayed["kind"]; readonly now: Answer | null; readonly why: string };

async function sameSet(again: Replay, recorded: RecordedDecision): Promise<Compared> {
  const replayed = await again.again(recorded);
  switch (replayed.kind) {
    case "different":
      return { kind: "different", now: replayed.now, why: `another ${replayed.differs.join(", ")}` };
    case "unreadable":
      return { kind: "unreadable", now: null, why: replayed.reason };
    default:
      return { kind: replayed.kind, now: null, why: "" };
  }
}

/** Who would decide as before is the same, also where other policies would say so. */
async function otherSet(again: Replay, engine: PolicyEngine, recorded: RecordedDecision): Promise<Compared> {
  const now = await again.under(engine, recorded);
  if (now === null) return { kind: "erased", now, why: "" };
  const isSame = now.effect === recordedAnswer(recorded).effect;
  return { kind: isSame ? "reproduced" : "different", now, why: "" };
}

function replayText(counts: Counts, differences: readonly Difference[], isOther: boolean): string {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const [same, changed] = isOther ? ["as recorded", "would change"] : ["reproduced", "answered otherwise"];
  const lines = differences.map(({ recorded, now, why }) => {
    const before = answerText(recordedAnswer(recorded));
    const after = now === null ? "" : ` -> ${answerText(now)}`;
    return `  ${recorded.entry.actionId}  ${inLine(`${before}${after}${why === "" ? "" : ` (${why})`}`)}\n`;
  });
  return [
    `${total} decisions: ${counts.reproduced} ${same}, ${counts.different} ${changed}, `,
    `${counts.erased} erased and not tested, ${counts.unreadable} not testable\n`,
    ...lines,
  ].join("");
}

const answerText = ({ effect, policyIds }: Answer): string => `${effect} by ${policyIds.join(", ")}`;

const replayJson = (counts: Counts, differences: readonly Difference[]): JsonObject => ({
  ok: counts.different + counts.unreadable === 0,
  ...counts,
  differences: differences.map(({ recorded, now, why }) => {
    const before = recordedAnswer(recorded);
    return {
      action_id: recorded.entry.actionId,
      decision_id: recorded.decisionId,
      recorded: { effect: before.effect, policy_ids: before.policyIds },
      now: now === null ? null : { effect: now.effect, policy_ids: now.policyIds },
      why,
    };
  }),
});
