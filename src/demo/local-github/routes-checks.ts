import { z } from "zod";
import type { JsonObject } from "../../domain/index.ts";
import { type Answer, created, notFound, ok, refused } from "./answer.ts";
import { actorOf } from "./caller.ts";
import { changeCheckRun, createCheckRun } from "./change-checks.ts";
import { bodyOf, numberOf, page, type RepositoryCall, type Route, textOf } from "./router.ts";
import { checkRunView, checkSuiteView } from "./views-check.ts";
import type { CheckRun, CheckSuite } from "./world.ts";

const read = [["checks", "read"]] as const;
const write = [["checks", "write"]] as const;

/** GitHub takes 65,535 characters of summary and text each, and three buttons with short words. */
const Long = z.string().max(65_535);
const Button = z.object({ label: z.string().max(20), description: z.string().max(40), identifier: z.string().max(20) });
const ChangedRun = z.object({
  name: z.string().optional(),
  details_url: z.string().optional(),
  external_id: z.string().optional(),
  started_at: z.string().optional(),
  status: z.enum(["queued", "in_progress", "completed", "waiting", "requested", "pending"]).optional(),
  conclusion: z
    .enum(["action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out"])
    .optional(),
  completed_at: z.string().optional(),
  output: z.object({ title: z.string(), summary: Long, text: Long.optional() }).optional(),
  actions: z.array(Button).max(3).optional(),
});
const NewRun = ChangedRun.extend({ name: z.string(), head_sha: z.string() });

export const checkRoutes: readonly Route[] = [
  { kind: "repository", method: "POST", path: "/check-runs", needs: write, handle: create },
  {
    kind: "repository",
    method: "GET",
    path: "/check-runs/{check_run_id}",
    needs: read,
    handle: (call) => ok(checkRunView(call.world, call.repository, runFrom(call))),
  },
  { kind: "repository", method: "PATCH", path: "/check-runs/{check_run_id}", needs: write, handle: update },
  { kind: "repository", method: "GET", path: "/commits/{ref}/check-runs", needs: read, handle: listForRef },
  { kind: "repository", method: "GET", path: "/commits/{ref}/check-suites", needs: read, handle: listSuites },
  {
    kind: "repository",
    method: "GET",
    path: "/check-suites/{check_suite_id}/check-runs",
    needs: read,
    handle: (call) => runsAnswer(call, (run) => run.suiteId === suiteFrom(call).id),
  },
  {
    kind: "repository",
    method: "GET",
    path: "/check-suites/{check_suite_id}",
    needs: read,
    handle: async (call) => ok(await suiteView(call, suiteFrom(call))),
  },
];

function runFrom(call: RepositoryCall): CheckRun {
  const run = call.repository.checkRuns.get(numberOf(call, "check_run_id"));
  if (run === undefined) throw notFound();
  return run;
}

function suiteFrom(call: RepositoryCall): CheckSuite {
  const suite = call.repository.checkSuites.get(numberOf(call, "check_suite_id"));
  if (suite === undefined) throw notFound();
  return suite;
}

const toChange = (body: z.infer<typeof ChangedRun>) => ({
  name: body.name,
  externalId: body.external_id,
  detailsUrl: body.details_url,
  status: body.status,
  conclusion: body.conclusion,
  startedAt: body.started_at,
  completedAt: body.completed_at,
  actions: body.actions,
  output: body.output === undefined ? undefined : { ...body.output, text: body.output.text ?? null },
});

function checkCompletion(body: z.infer<typeof ChangedRun>): void {
  if (body.status === "completed" && body.conclusion === undefined)
    throw refused(422, "Invalid request.\n\nFor 'allOf/0', \"conclusion\" wasn't supplied.");
}

async function create(call: RepositoryCall): Promise<Answer> {
  const { world, repository } = call;
  const body = bodyOf(call, NewRun);
  checkCompletion(body);
  if ((await world.git.typeOf(repository.folder, body.head_sha)) !== "commit")
    throw refused(422, `No commit found for SHA: ${body.head_sha}`);
  const given = { ...toChange(body), headSha: body.head_sha, name: body.name };
  const run = createCheckRun(world, repository, actorOf(call), given);
  return created(checkRunView(world, repository, run));
}

function update(call: RepositoryCall): Answer {
  const run = runFrom(call);
  const body = bodyOf(call, ChangedRun);
  checkCompletion(body);
  changeCheckRun(call.world, call.repository, actorOf(call), { run, to: toChange(body) });
  return ok(checkRunView(call.world, call.repository, run));
}

function runsAnswer(call: RepositoryCall, isWanted: (run: CheckRun) => boolean): Answer {
  const name = call.query.get("check_name");
  const status = call.query.get("status");
  const appId = call.query.get("app_id");
  const all = [...call.repository.checkRuns.values()]
    .filter(isWanted)
    .filter((run) => name === null || run.name === name)
    .filter((run) => status === null || run.status === status)
    .filter((run) => appId === null || String(run.appId) === appId);
  const isLatest = (run: CheckRun): boolean =>
    !all.some((other) => other.name === run.name && other.headSha === run.headSha && other.id > run.id);
  const runs = call.query.get("filter") === "all" ? all : all.filter(isLatest);
  return page(
    call,
    runs.map((run) => checkRunView(call.world, call.repository, run)),
    "check_runs",
  );
}

async function commitFrom(call: RepositoryCall): Promise<string> {
  const sha = await call.world.git.resolve(call.repository.folder, textOf(call, "ref"));
  if (sha === null) throw refused(422, `No commit found for SHA: ${textOf(call, "ref")}`);
  return sha;
}

async function listForRef(call: RepositoryCall): Promise<Answer> {
  const sha = await commitFrom(call);
  return runsAnswer(call, (run) => run.headSha === sha);
}

async function suiteView(call: RepositoryCall, suite: CheckSuite): Promise<JsonObject> {
  const commit = await call.world.git.readCommit(call.repository.folder, suite.headSha);
  return checkSuiteView(call.world, call.repository, suite, commit);
}

async function listSuites(call: RepositoryCall): Promise<Answer> {
  const sha = await commitFrom(call);
  const suites = [...call.repository.checkSuites.values()].filter((suite) => suite.headSha === sha);
  return page(call, await Promise.all(suites.map((suite) => suiteView(call, suite))), "check_suites");
}
