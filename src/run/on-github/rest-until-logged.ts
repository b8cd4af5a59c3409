import { delay } from "../../agent/index.ts";
import type { CountersignError } from "../../domain/index.ts";
import { isLogOut } from "../outage.ts";
import type { GithubJob } from "./github-job.ts";
import type { GithubRunDeps } from "./github-run-deps.ts";
import { handOver } from "./hand-over.ts";

/** Between two tries to give a run back: it is taken up again soon after the log is back (AUD-59). */
const tryEveryMs = 1_000;

/**
 * A run whose log failed takes no further action (AUD-54). It rests here, under its lease, until the log takes the entry
 * that gives it back; then whoever is free goes on with it, and no attempt is counted. Throws the outage where this process
 * ends meanwhile, and what else keeps it from being given back: then its lease runs out, and it is taken over.
 */
export async function restUntilLogged(
  deps: GithubRunDeps,
  job: GithubJob,
  outage: CountersignError,
  signal: AbortSignal,
): Promise<void> {
  deps.onEvent({ kind: "notice", text: `run ${job.row.run_id} rests until the log is back: ${outage.message}` });
  for (;;) {
    await delay(tryEveryMs, signal).catch(() => {
      throw outage;
    });
    try {
      return await handOver(deps, job, "log_failed");
    } catch (error) {
      if (!isLogOut(error)) throw error;
    }
  }
}
