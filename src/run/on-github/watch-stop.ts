import { CountersignError, type RunId, type StopCause } from "../../domain/index.ts";
import type { GithubRunDeps } from "./github-run-deps.ts";

/** Who wants the run to end, and by which means. */
export type StopWish = { readonly by: string; readonly cause: StopCause };

/** Looks for a wish to stop until it is disposed; `signal` is aborted with `ABORTED` once there is one (GH-50). */
export type StopWatch = AsyncDisposable & {
  readonly signal: AbortSignal;
  readonly wish: () => StopWish | null;
  /** Looks at once; answers with the wish, where there is one by now. */
  readonly look: () => Promise<StopWish | null>;
};

const through: Readonly<Record<StopCause, string>> = {
  command: "the command `/countersign stop`",
  paused: "`countersign pause`",
  cancel_command: "`countersign runs cancel`",
  label_removed: "the removed label",
  item_closed: "the closed issue",
  item_transferred: "the transferred issue",
  item_deleted: "the deleted issue",
  installation_deleted: "the removed installation",
  installation_suspended: "the suspended installation",
  repository_removed: "the repository taken out of the installation",
  repository_archived: "the archived repository",
  repository_deleted: "the deleted repository",
  repository_transferred: "the transferred repository",
};

/** "cancelled by X through Y" (GH-50). */
export function stopText({ by, cause }: StopWish): string {
  return `cancelled by ${by} through ${through[cause]}`;
}

export function watchStop(deps: GithubRunDeps, runId: RunId): StopWatch {
  const stop = new AbortController();
  let wish: StopWish | null = null;
  const look = async (): Promise<StopWish | null> => {
    wish ??= await readWish(deps, runId);
    if (wish !== null && !stop.signal.aborted) stop.abort(new CountersignError("ABORTED", stopText(wish)));
    return wish;
  };
  let looking: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    // The database does not answer: the next append says so, with its own error.
    looking = look().catch(() => undefined);
  }, deps.times.stopPollMs);
  timer.unref();
  return {
    signal: stop.signal,
    wish: () => wish,
    look,
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await looking;
    },
  };
}

async function readWish({ store }: GithubRunDeps, runId: RunId): Promise<StopWish | null> {
  const row = await store.db
    .selectFrom("runs")
    .select(["stop_requested_at", "stop_requested_by_login", "stop_cause"])
    .where("run_id", "=", runId)
    .executeTakeFirst();
  if (row === undefined || row.stop_requested_at === null) return null;
  return { by: row.stop_requested_by_login ?? "the operator", cause: row.stop_cause ?? "command" };
}
