import { z } from "zod";
import type { JsonObject } from "../../domain/index.ts";
import * as shapes from "../answers.ts";
import type { CheckRunFacts } from "../facts.ts";
import type { WriteContext, WriteRow } from "../write-row.ts";
import type { SetCheckRun } from "../writes.ts";
import { isSameText, markersIn, outdated, revisionOf, withMarkers } from "./marked.ts";

const checkRunName = "Countersign";
const titleLengthMost = 255;
const listedMost = 100;

const Listed = z.object({ check_runs: z.array(shapes.CheckRun) });

const resultOf = (facts: CheckRunFacts, isConfirmed: boolean): JsonObject => ({
  check_run_id: facts.id,
  url: facts.url,
  head_sha: facts.headSha,
  status: facts.status,
  conclusion: facts.conclusion,
  confirmed: isConfirmed,
});

/** The run's check run on the commit: by our App, our name and `external_id` (GH-43), among at most 100 of our name (GH-25). */
async function findOwn(context: WriteContext, { headSha, runId }: SetCheckRun, signal: AbortSignal) {
  const { check_runs: all } = await context.read(
    "/commits/{ref}/check-runs",
    { ref: headSha, check_name: checkRunName, filter: "all", per_page: listedMost },
    Listed,
    signal,
  );
  const own = all.find(
    (facts) => facts.appId === context.appId && facts.externalId === runId && facts.name === checkRunName,
  );
  if (own === undefined) return { own: null, revision: 0, isComplete: all.length < listedMost };
  const markers = markersIn(context, own.summary ?? "");
  return { own, revision: markers === null ? 0 : revisionOf(markers), isComplete: true };
}

const summaryOf = (context: WriteContext, write: SetCheckRun): string =>
  withMarkers(context, write.summary, [{ id: write.runId, revision: write.revision }]);

const titleOf = ({ title }: SetCheckRun): string => title.slice(0, titleLengthMost).toWellFormed();

async function readBack(context: WriteContext, sent: CheckRunFacts, signal: AbortSignal): Promise<JsonObject> {
  try {
    const parameters = { check_run_id: sent.id };
    return resultOf(await context.read("/check-runs/{check_run_id}", parameters, shapes.CheckRun, signal), true);
  } catch {
    return resultOf(sent, false);
  }
}

export const setCheckRun: WriteRow<SetCheckRun> = {
  naturalKey: ({ headSha, runId, revision }) =>
    `check run ${checkRunName} on ${headSha} of ${runId} revision ${revision}`,
  precondition: "the run's check run on the commit is missing or of an earlier revision",
  recipe:
    "list our App's check runs of the commit: this run's with our revision and texts, applied; none or an earlier one, not applied; else inconclusive",
  permissions: { checks: "write" },
  send: async (context, write, signal) => {
    const { own, revision } = await findOwn(context, write, signal);
    if (revision > write.revision) throw outdated("check run", revision);
    const body = {
      status: write.status,
      ...(write.conclusion === null ? {} : { conclusion: write.conclusion }),
      output: { title: titleOf(write), summary: summaryOf(context, write) },
    };
    const made = { name: checkRunName, head_sha: write.headSha, external_id: write.runId, ...body };
    const request =
      own === null
        ? ({ method: "POST", route: "/check-runs", parameters: made } as const)
        : ({
            method: "PATCH",
            route: "/check-runs/{check_run_id}",
            parameters: { check_run_id: own.id, ...body },
          } as const);
    return await readBack(context, await context.send(request, shapes.CheckRun, signal), signal);
  },
  look: async (context, write, _since, signal) => {
    const { own, revision, isComplete } = await findOwn(context, write, signal);
    const saw = { head_sha: write.headSha, check_run: own?.id ?? null, revision };
    if (own === null && !isComplete) return { kind: "inconclusive", saw };
    if (own === null || revision < write.revision) return { kind: "not_applied", saw };
    const isApplied =
      own.status === write.status &&
      own.conclusion === write.conclusion &&
      own.title === titleOf(write) &&
      isSameText(own.summary ?? "", summaryOf(context, write));
    return isApplied ? { kind: "applied", result: resultOf(own, true), saw } : { kind: "inconclusive", saw };
  },
};
