import { z } from "zod";
import { type ActionOutcome, type ChangeSet, CountersignError, cutRedacted } from "../domain/index.ts";
import { createFingerprints, type RunContext } from "../gateway/index.ts";
import { protectionOf } from "../policy/index.ts";
import type { Workspace } from "../workspace/index.ts";
import { deciderOf } from "./decide-paths.ts";
import type { Waiting } from "./perform-asking.ts";
import { performOwn } from "./perform-own.ts";
import type { RunDeps } from "./run-deps.ts";
import type { Session } from "./session.ts";

/**
 * Makes a fresh tree ready by the settings' own command, before any of the model's changes is in it but for those that decide
 * what is installed (SEC-65, SEC-72). Nothing where the settings name no command. Answers that it waits where a person is asked
 * elsewhere. Throws SETUP_FAILED with what is to be mended.
 */
export async function setUp(
  deps: RunDeps,
  session: Session,
  tree: { readonly workspace: Workspace; readonly dependencies: ChangeSet },
  signal: AbortSignal,
): Promise<Waiting | null> {
  const { setup } = session.settings;
  if (setup === null) return null;
  const { runId } = session.run;
  await using pages = await deps.openPages(runId);
  const context: RunContext = {
    ...session.context,
    workspace: tree.workspace,
    fingerprints: createFingerprints(),
    pages,
    onRecordedChange: () => undefined,
    isOwnCommandApproved: isApproved(session, tree.dependencies),
  };
  const args = {
    command: setup.run,
    timeout_s: Math.ceil(setup.timeoutMs / 1000),
    network: setup.network,
    changed_dependencies: tree.dependencies.changes.length > 0,
  };
  const outcome = await performOwn(deps, session, { context, command: { tool: "run_setup", args } }, signal);
  if ("kind" in outcome) return outcome;
  signal.throwIfAborted();
  const failure = failureOf(outcome, cutRedacted(deps.redactor.redact(setup.run), longestCommand));
  if (failure !== null) throw failure;
  return null;
}

/**
 * Whether a person said yes to each of the changes; their bytes are as authorized actions left them, since the read-back lets no
 * others through (SEC-91). Who sits at the terminal is asked again instead.
 */
function isApproved(session: Session, { changes }: ChangeSet): boolean {
  const { isApproved: isPathApproved } = deciderOf(session);
  return (
    session.context.approvalChannel === "github" &&
    changes.length > 0 &&
    changes.every(({ path }) => isPathApproved(path))
  );
}

/** What of a change set decides what a setup installs (SEC-72), and the rest of it. */
export function splitDependencies({ changes }: ChangeSet): {
  readonly dependencies: ChangeSet;
  readonly rest: ChangeSet;
} {
  const [of = [], rest = []] = [true, false].map((wanted) =>
    changes.filter(({ path }) => isDependencyFile(path) === wanted),
  );
  return { dependencies: { changes: of }, rest: { changes: rest } };
}

const isDependencyFile = (path: string): boolean => ["manifest", "lockfile"].includes(protectionOf(path) ?? "");

/** The fields of `run_setup`'s record that its failure is told by. */
const SetupRecord = z.object({
  exit_code: z.number().nullable(),
  timed_out: z.boolean(),
  missing_program: z.string().nullable(),
  looked_in: z.array(z.string()),
  asked: z.array(z.object({ host: z.string().nullable(), outcome: z.string() })),
  unusable: z.array(z.string()),
  refused: z.array(z.string()),
});

function failureOf(outcome: ActionOutcome, command: string): CountersignError | null {
  const parsed = SetupRecord.safeParse(outcome.record);
  if (!parsed.success) {
    const why = outcome.refusal?.received ?? outcome.state;
    return new CountersignError("SETUP_FAILED", `setup did not run: ${why}`, { details: { state: outcome.state } });
  }
  const { data: record } = parsed;
  if (record.exit_code === 0 && record.refused.length === 0) return null;
  const refused = record.asked.filter(({ outcome: what }) => what !== "led_on").slice(0, toldAtMost);
  const causes = [
    `setup failed: \`${command}\` ${endOf(record)}`,
    ...refused.map(({ host, outcome: what }) => `${host ?? "a request without a host name"} was refused (${what})`),
    ...record.unusable,
  ];
  return new CountersignError("SETUP_FAILED", causes.join("; "), {
    details: { exitCode: record.exit_code, timedOut: record.timed_out, refusedCount: refused.length },
  });
}

const toldAtMost = 5;
const longestCommand = 120;

function endOf(record: z.infer<typeof SetupRecord>): string {
  if (record.timed_out) return "did not end within its time limit";
  if (record.refused.length > 0)
    return `left what can't be taken over: ${record.refused.slice(0, toldAtMost).join("; ")}`;
  const { missing_program: missing, looked_in: lookedIn } = record;
  if (missing === null) return `ended with exit code ${record.exit_code ?? "none"}`;
  return `needs \`${missing}\`, which is not in the sandbox (looked for in ${lookedIn.join(", ")})`;
}
