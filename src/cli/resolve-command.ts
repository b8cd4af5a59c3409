import type { Command } from "commander";
import { CountersignError, cutRedacted, late, parseActionId } from "../domain/index.ts";
import { type CliDeps, printJson } from "./cli-deps.ts";

const resolveByPerson = late(async () => (await import("../gateway/index.ts")).resolveByPerson);

type ResolveOptions = {
  readonly done?: true;
  readonly notDone?: true;
  readonly why: string;
  readonly json?: true;
};

const longestReason = 500;

/** A person's word on an action of which nothing else could tell whether it was done (AUD-5, AUD-65). */
export function addResolveCommand(audit: Command, deps: CliDeps): void {
  audit
    .command("resolve <action>")
    .description("say whether an action was done that was looked for in vain: after you have looked on GitHub yourself")
    .option("--done", "it stands on GitHub")
    .option("--not-done", "it does not")
    .requiredOption("--why <text>", "what you saw; kept sealed with your name")
    .option("--json", "print one JSON object")
    .action((action: string, options: ResolveOptions) => resolve(deps, action, options));
}

async function resolve(deps: CliDeps, text: string, options: ResolveOptions): Promise<void> {
  const isApplied = findingOf(options);
  const reason = cutRedacted(deps.terminal.redact(options.why.trim()), longestReason);
  if (reason === "") throw new CountersignError("USAGE", "--why: got nothing, expected what you saw");
  const actionId = parseActionId(text);
  if (actionId === null) {
    throw new CountersignError("NOT_FOUND", `\`${text}\` is no action id`, {
      remedy: "list actions with `countersign audit find`, or those of one run with `countersign audit show <run>`",
    });
  }
  await using records = await deps.openRecords();
  await resolveByPerson({ ...records, ...deps }, actionId, { isApplied, person: deps.requester, reason });
  if (options.json) return printJson(deps.terminal, { action_id: actionId, applied: isApplied });
  const found = isApplied ? "done" : "not done";
  deps.terminal.out(`action ${actionId} is on record as ${found}: \`countersign audit show ${actionId}\`\n`);
}

function findingOf({ done, notDone }: ResolveOptions): boolean {
  if (done === notDone) throw new CountersignError("USAGE", "expected one of --done and --not-done");
  return done === true;
}
