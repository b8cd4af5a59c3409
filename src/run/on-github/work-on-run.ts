import { usedAfter } from "../../agent/index.ts";
import { CountersignError, isCountersignError, type RunId } from "../../domain/index.ts";
import { type Carried, carry, timeLimit } from "../carry.ts";
import { deciderOf } from "../decide-paths.ts";
import { holdLease } from "../lease.ts";
import { recordSpooled } from "../log-failed.ts";
import { isLogOut, isOutage } from "../outage.ts";
import { gateRemedy } from "../pass-gate.ts";
import { askedAbout, type Resumed, readResumed } from "../resume.ts";
import type { RunPhase } from "../run-deps.ts";
import type { Session } from "../session.ts";
import { judge } from "../settle.ts";
import { settleCutOffActions } from "../settle-open-actions.ts";
import { askGate } from "./ask-gate.ts";
import { endEarly, finish, type Live } from "./end.ts";
import { type GithubJob, openJob } from "./github-job.ts";
import type { GithubRunDeps } from "./github-run-deps.ts";
import { handOver } from "./hand-over.ts";
import { reconcileAll } from "./host-actions.ts";
import { type KeptResult, keepResult, readKeptResult } from "./kept-result.ts";
import { type Closed, closed } from "./last-gate.ts";
import { closedByError, type PreparedOnGithub, prepareOnGithub } from "./prepare-on-github.ts";
import { type Asked, isWorthPublishing, publicationOf } from "./publication.ts";
import { type Publisher, publish } from "./publish.ts";
import { openReporter } from "./reporter.ts";
import { restUntilLogged } from "./rest-until-logged.ts";
import { type Taking, takeRun } from "./take-run.ts";
import { tellAnswers } from "./tell-answers.ts";
import { waitForAnswers } from "./wait-for-answers.ts";
import { stopText, watchStop } from "./watch-stop.ts";

const askAgain = "ask again with `/countersign retry`";

/** What became of the job: the run ended, was given back, or was not there to be taken. */
export type WorkedOn =
  | { readonly kind: "ended" }
  | { readonly kind: "handed_over" }
  /** A person is asked: an answer, or the end of its time, brings the job again. */
  | { readonly kind: "waiting" }
  | Exclude<Taking, { readonly kind: "taken" }>;

/**
 * Works on a run that was asked for on GitHub, from wherever its last worker left it, to its end: at most one comment, one
 * branch and one pull request, whatever happens in between. Throws where nothing can be recorded or the lease was lost; then
 * the job comes again.
 */
export async function workOnRun(deps: GithubRunDeps, runId: RunId, signal: AbortSignal): Promise<WorkedOn> {
  signal.throwIfAborted();
  const taking = await takeRun(deps, runId);
  if (taking.kind !== "taken") return taking;
  await using held = holdLease(deps, taking.lease, deps.times);
  await using stop = watchStop(deps, runId);
  const opened = await openJob(deps, taking.row, taking.lease);
  const known: { live: Live | null } = { live: null };
  try {
    await recordSpooled(deps, { runId, traceId: taking.row.trace_id, attempt: taking.row.attempt }, taking.lease);
    await reconcileAll(deps, opened, held.lost); // before anything asks the record what stands on GitHub
    const resumed = await resume(deps, opened);
    const job = { ...opened, startedAtMs: opened.startedAtMs - (resumed?.kept?.elapsedMs ?? 0) };
    const live = { job, stop, reporter: await openReporter(deps, job), lost: held.lost };
    known.live = live;
    live.reporter.begin();
    if (resumed !== null) await tellAnswers(deps, job, { isOver: false }, held.lost);
    return taking.isGivenUp ? await endEarly(deps, live, lostTooOften) : await workTaken(deps, live, resumed, signal);
  } catch (error) {
    if (!isLogOut(error) || held.lost.aborted) throw error;
    await known.live?.reporter.settled().catch(() => undefined); // its writes meet the same outage
    await restUntilLogged(deps, opened, error, AbortSignal.any([signal, held.lost]));
    return { kind: "handed_over" };
  }
}

const lostTooOften = closed("failure", "its worker was lost too often, so it was given up", askAgain);

/** A run that has waited for a person is gone on with from its record; what was cut off meanwhile is brought to rest first. */
async function resume(deps: GithubRunDeps, { row, lease }: GithubJob): Promise<Resumed | null> {
  const run = { runId: row.run_id, traceId: row.trace_id, attempt: row.attempt };
  if ((await askedAbout(deps, row.run_id)).length === 0) return null;
  await settleCutOffActions(deps, run, lease, "crash");
  return readResumed(deps, row.run_id);
}

async function workTaken(
  deps: GithubRunDeps,
  live: Live,
  resumed: Resumed | null,
  signal: AbortSignal,
): Promise<WorkedOn> {
  const working = AbortSignal.any([signal, live.stop.signal, live.lost]);
  const prepared = await prepareOrClose(deps, live, working);
  live.lost.throwIfAborted();
  if (prepared.kind === "closed") {
    const wish = live.stop.wish();
    if (wish !== null) return endEarly(deps, live, closed("cancelled", stopText(wish), askAgain));
    if (signal.aborted) return givenBack(deps, live);
    return endEarly(deps, live, prepared);
  }
  const { session, base } = prepared;
  if (resumed !== null) goOnFrom(session, resumed);
  live.reporter.show({ base, limits: session.run.limits });
  const kept = await readKeptResult(deps, session.run.runId);
  const ended = kept ?? (await produce(deps, live, { session, resumed }, working));
  live.lost.throwIfAborted();
  if ("kind" in ended) return waitForAnswers(deps, live, session, ended);
  if (kept === null && isShutDown(ended, live, signal)) return givenBack(deps, live);
  return conclude(deps, live, prepared, { ...ended, isKept: kept !== null });
}

/** What an earlier worker of the run had done by the time it asked counts as done by this one. */
function goOnFrom(session: Session, { recorded, approved, turns, kept }: Resumed): void {
  session.recorded.push(...recorded);
  for (const actionId of approved) session.approvedEarlier.add(actionId);
  const whole = turns.filter(({ kind }) => kind !== "waiting");
  session.used = whole.reduce(usedAfter, session.used);
  session.output.usedBytes += kept?.outputBytes ?? 0;
}

type Prepared = { readonly kind: "prepared" } & PreparedOnGithub;

async function prepareOrClose(deps: GithubRunDeps, live: Live, signal: AbortSignal): Promise<Prepared | Closed> {
  const shown: { session: Session | null } = { session: null };
  const onPhase = (phase: RunPhase): void => {
    deps.onEvent({ kind: "phase", phase });
    live.reporter.show(shown.session === null ? { phase } : { phase, used: shown.session.used });
  };
  try {
    await live.stop.look();
    signal.throwIfAborted();
    onPhase("prepare");
    const prepared = await prepareOnGithub(deps, live.job, onPhase, signal);
    shown.session = prepared.session;
    return { kind: "prepared", ...prepared };
  } catch (error) {
    if (isOutage(error)) throw error; // the run rests, and its job comes again
    return isCountersignError(error) ? closedByError(error) : closedByBug(error);
  }
}

function closedByBug(error: unknown): Closed {
  const name = error instanceof Error ? error.name : "an error";
  return closed("failure", `${name} in Countersign itself`, "tell whoever runs Countersign the id of this run");
}

/** From the tests before to the verdict. */
async function produce(
  deps: GithubRunDeps,
  { stop }: Live,
  { session, resumed }: { readonly session: Session; readonly resumed: Resumed | null },
  signal: AbortSignal,
): Promise<KeptResult | Extract<Carried, { readonly kind: "waiting" }>> {
  const carried = await carry(deps, session, resumed, AbortSignal.any([signal, timeLimit(deps, session)]));
  if (carried.kind === "waiting") return carried;
  const { result } = carried;
  if (result.end.isOutage) throw new CountersignError("LEDGER_UNAVAILABLE", result.end.detail);
  const verdict = await judge(deps, session, result);
  // The gateway may have heard of the wish before the watch did.
  const wish = result.end.stopReason === "cancelled" ? await stop.look() : null;
  return { result, verdict: wish === null ? verdict : { ...verdict, cause: stopText(wish) }, used: session.used };
}

/** Whether the work ended because this process ends, and for no other reason. */
const isShutDown = ({ result }: KeptResult, { stop }: Live, signal: AbortSignal): boolean =>
  signal.aborted && stop.wish() === null && result.end.stopReason === "cancelled";

async function givenBack(deps: GithubRunDeps, live: Live): Promise<WorkedOn> {
  await live.reporter.settled();
  await handOver(deps, live.job, "shutdown");
  return { kind: "handed_over" };
}

/** Publishes what is worth it, and ends the run. */
async function conclude(
  deps: GithubRunDeps,
  live: Live,
  { session, base }: PreparedOnGithub,
  ended: KeptResult & { readonly isKept: boolean },
): Promise<WorkedOn> {
  const { result, verdict } = ended;
  session.used = ended.used;
  if (!isWorthPublishing(result, verdict)) {
    return finish(deps, live, session, { result, verdict, pullRequest: null, remedy: remedyOf(ended) });
  }
  session.onPhase("publish");
  if (!ended.isKept) await keepResult(deps, session, ended);
  await live.reporter.settled();
  const gate = await askGate(deps, live, base);
  const published =
    gate.kind === "closed"
      ? gate
      : await publish(
          deps,
          publisherOf(live, session),
          await publicationOf(deps, askedOf(live.job), { session, base, behindBy: gate.behindBy, result, verdict }),
          live.lost,
        );
  live.lost.throwIfAborted();
  if (published.kind === "waiting")
    return waitForAnswers(deps, live, session, { phase: "publish", before: result.before });
  if (published.kind === "published") {
    return finish(deps, live, session, { result, verdict, pullRequest: published.pullRequest, remedy: null });
  }
  const { conclusion, remedy } = published;
  const cause = await causeOf(live, published);
  return finish(deps, live, session, { result, verdict: { ...verdict, conclusion, cause }, pullRequest: null, remedy });
}

/** What a person approved as it is now may be pushed as well (AUD-21); what else needs a yes is asked for. */
const publisherOf = ({ job }: Live, session: Session): Publisher => ({
  branch: job.branch,
  context: { ...job.context, isPathApproved: deciderOf(session).isApproved, approvalChannel: "github" },
});

const askedOf = ({ trigger }: GithubJob): Asked => ({
  issue: trigger.item.number,
  requester: trigger.requester,
  event: trigger.event,
  askedAt: trigger.at,
  textDigest: trigger.textDigest,
});

/** What was halted in the midst of publishing names who halted it (GH-50). */
async function causeOf({ stop }: Live, { conclusion, cause }: Closed): Promise<string> {
  const wish = conclusion === "cancelled" ? await stop.look() : null;
  return wish === null || cause === stopText(wish) ? cause : `${stopText(wish)}: ${cause}`;
}

function remedyOf({ result, verdict }: KeptResult): string | null {
  if (verdict.gateCauses.length > 0) return gateRemedy;
  if (verdict.conclusion === "neutral" && result.readBack.authorized.changes.length === 0) return null;
  return askAgain;
}
