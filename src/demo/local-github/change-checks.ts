import type { JsonObject } from "../../domain/index.ts";
import { type Actor, tell } from "./tell.ts";
import { checkRunPayload, checkSuitePayload } from "./views-check.ts";
import { isPull } from "./views-pull.ts";
import { type CheckOutput, type CheckRun, type CheckSuite, nowOf, type Repository, type World } from "./world.ts";

export type CheckChange = {
  readonly name?: string | undefined;
  readonly externalId?: string | undefined;
  readonly detailsUrl?: string | undefined;
  readonly status?: string | undefined;
  readonly conclusion?: string | undefined;
  readonly startedAt?: string | undefined;
  readonly completedAt?: string | undefined;
  readonly output?: CheckOutput | undefined;
  readonly actions?: readonly JsonObject[] | undefined;
};

/** Each App has one suite on a commit, which comes with its first check run. */
export function suiteOn(world: World, repository: Repository, headSha: string): CheckSuite {
  const present = [...repository.checkSuites.values()].find((one) => one.headSha === headSha);
  if (present !== undefined) return present;
  const branch = [...repository.items.values()].filter(isPull).find((item) => item.pull.headSha === headSha)?.pull.head;
  const suite: CheckSuite = {
    id: world.nextId(),
    headSha,
    appId: world.app.id,
    headBranch: branch ?? null,
    createdAt: nowOf(world),
  };
  repository.checkSuites.set(suite.id, suite);
  return suite;
}

export function createCheckRun(
  world: World,
  repository: Repository,
  by: Actor,
  given: CheckChange & { readonly headSha: string; readonly name: string },
): CheckRun {
  const run: CheckRun = {
    id: world.nextId(),
    suiteId: suiteOn(world, repository, given.headSha).id,
    headSha: given.headSha,
    appId: world.app.id,
    name: given.name,
    externalId: "",
    detailsUrl: null,
    status: "queued",
    conclusion: null,
    startedAt: nowOf(world),
    completedAt: null,
    output: { title: null, summary: null, text: null },
    actions: [],
  };
  repository.checkRuns.set(run.id, run);
  apply(world, run, given);
  tellRun(world, repository, run, { action: "created", by });
  if (run.status === "completed") tellRun(world, repository, run, { action: "completed", by });
  return run;
}

export function changeCheckRun(
  world: World,
  repository: Repository,
  by: Actor,
  change: { readonly run: CheckRun; readonly to: CheckChange },
): void {
  const wasDone = change.run.status === "completed";
  apply(world, change.run, change.to);
  if (!wasDone && change.run.status === "completed")
    tellRun(world, repository, change.run, { action: "completed", by });
}

/** A conclusion alone completes a check run; another status takes the conclusion away. */
function apply(world: World, run: CheckRun, to: CheckChange): void {
  run.name = to.name ?? run.name;
  run.externalId = to.externalId ?? run.externalId;
  run.detailsUrl = to.detailsUrl ?? run.detailsUrl;
  run.status = to.status ?? run.status;
  run.startedAt = to.startedAt ?? run.startedAt;
  run.output = to.output ?? run.output;
  run.actions = to.actions ?? run.actions;
  if (to.conclusion !== undefined) {
    run.status = "completed";
    run.conclusion = to.conclusion;
    run.completedAt = to.completedAt ?? nowOf(world);
  } else if (to.status !== undefined && to.status !== "completed") {
    run.conclusion = null;
    run.completedAt = null;
  }
}

export function tellRun(
  world: World,
  repository: Repository,
  run: CheckRun,
  told: { readonly action: string; readonly by: Actor; readonly more?: JsonObject },
): void {
  tell(
    world,
    repository,
    { event: "check_run", action: told.action, by: told.by },
    { check_run: checkRunPayload(world, repository, run), ...told.more },
  );
}

export async function tellSuite(
  world: World,
  repository: Repository,
  suite: CheckSuite,
  told: { readonly action: string; readonly by: Actor },
): Promise<void> {
  const commit = await world.git.readCommit(repository.folder, suite.headSha);
  tell(
    world,
    repository,
    { event: "check_suite", ...told },
    { check_suite: checkSuitePayload(world, repository, suite, commit) },
  );
}
