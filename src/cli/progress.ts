import { type ActionOutcome, cutRedacted } from "../domain/index.ts";
import type { RunEvent, RunPhase } from "../run/index.ts";
import { duration, inLine, type Terminal } from "./terminal.ts";

const phaseTitles: Readonly<Record<RunPhase, string>> = {
  prepare: "prepare",
  verify_before: "tests before",
  work: "work",
  verify_after: "tests after",
  publish: "publish",
  settle: "settle",
};

/** One calm view of a run: a line for each phase and action, and on a live terminal one line that shows what is under way. */
export function createProgress(terminal: Terminal, clock: () => number): (event: RunEvent) => void {
  let status = "";
  let thinkingSince = 0;
  const clearStatus = (): void => {
    if (status !== "") terminal.err("\r\x1b[2K");
    status = "";
  };
  const show = (text: string): void => {
    if (!terminal.isLive) return;
    clearStatus();
    status = cutRedacted(terminal.redact(text), terminal.columns - 1, "");
    terminal.err(status);
  };
  const say = (line: string): void => {
    clearStatus();
    terminal.err(`${inLine(line)}\n`);
  };
  return (event) => {
    switch (event.kind) {
      case "started":
        say(`run ${event.runId} on ${event.repository.name} at ${event.baseSha.slice(0, 12)}`);
        if (event.uncommitted.length > 0) say(uncommittedLine(event.uncommitted));
        return;
      case "phase":
        say(`-- ${phaseTitles[event.phase]}`);
        return;
      case "action":
        say(actionLine(event.outcome));
        return;
      case "notice":
        say(event.text);
        return;
      case "model":
        if (event.event.kind === "started") thinkingSince = clock();
        if (event.event.kind === "discarded")
          say(`   the model's answer broke off (${event.event.reason}); asking again`);
        else show(`   the model is answering, ${duration(clock() - thinkingSince)}`);
        return;
      case "completed":
      case "ended":
        clearStatus();
        return;
    }
  };
}

function uncommittedLine(paths: readonly string[]): string {
  const shown = paths.slice(0, 5).join(", ");
  const more = paths.length > 5 ? ` and ${paths.length - 5} more` : "";
  return `   uncommitted changes are left out: ${shown}${more}`;
}

/** Tool, decision, result and time of one action, with the reason where it did nothing. */
function actionLine(outcome: ActionOutcome): string {
  const decision = outcome.decision?.effect ?? "-";
  const result = outcome.state === "succeeded" ? outcome.status : outcome.state;
  const columns = [outcome.tool.padEnd(17), decision.padEnd(6), result.padEnd(9), duration(outcome.durationMs)];
  const reason = reasonOf(outcome);
  return `   ${columns.join("  ")}${reason === "" ? "" : `  ${reason}`}`;
}

/** Why an action did not do what was asked; empty where it did. */
export function reasonOf({ refusal, decision }: ActionOutcome): string {
  if (refusal === null) return "";
  const rules = decision?.effect === "deny" ? [...decision.policyIds, ...decision.errors].join(", ") : "";
  return [refusal.code, rules].filter((part) => part !== "").join(": ");
}
