import { z } from "zod";
import { type Answer, checkLength, created, invalid, ok } from "./answer.ts";
import { actorOf } from "./caller.ts";
import { changeItem } from "./change-items.ts";
import { openPull, pullOf } from "./change-pulls.ts";
import { bodyOf, numberOf, page, type RepositoryCall, type Route } from "./router.ts";
import { commitView, filesView } from "./views-git.ts";
import { filesOf, isPull, pullView, simplePullView } from "./views-pull.ts";

const read = [["pull_requests", "read"]] as const;
const write = [["pull_requests", "write"]] as const;

const NewPull = z.object({
  title: z.string(),
  head: z.string(),
  base: z.string(),
  body: z.string().nullish(),
  draft: z.boolean().default(false),
  maintainer_can_modify: z.boolean().default(true),
});
/** There is no `draft`: GitHub changes that through GraphQL alone. */
const ChangedPull = z.object({
  title: z.string().optional(),
  body: z.string().nullish(),
  state: z.enum(["open", "closed"]).optional(),
  base: z.string().optional(),
});

export const pullRoutes: readonly Route[] = [
  { kind: "repository", method: "GET", path: "/pulls", needs: read, handle: listPulls },
  { kind: "repository", method: "POST", path: "/pulls", needs: write, handle: createPull },
  { kind: "repository", method: "GET", path: "/pulls/{pull_number}", needs: read, handle: getPull },
  { kind: "repository", method: "PATCH", path: "/pulls/{pull_number}", needs: write, handle: updatePull },
  { kind: "repository", method: "GET", path: "/pulls/{pull_number}/files", needs: read, handle: listFiles },
  { kind: "repository", method: "GET", path: "/pulls/{pull_number}/commits", needs: read, handle: listPullCommits },
];

const pullFrom = (call: RepositoryCall) => pullOf(call.repository, numberOf(call, "pull_number"));

function listPulls(call: RepositoryCall): Answer {
  const { query, repository } = call;
  const state = query.get("state") ?? "open";
  const head = query.get("head");
  const base = query.get("base");
  const items = [...repository.items.values()]
    .filter(isPull)
    .filter((item) => state === "all" || item.state === state)
    .filter((item) => head === null || `${repository.owner.login}:${item.pull.head}` === head || !head.includes(":"))
    .filter((item) => base === null || item.pull.base === base)
    .sort((a, b) => b.number - a.number);
  return page(
    call,
    items.map((item) => simplePullView(call.world, repository, item)),
  );
}

async function createPull(call: RepositoryCall): Promise<Answer> {
  const body = bodyOf(call, NewPull);
  checkLength("PullRequest", body.body);
  if (body.title.trim() === "") throw invalid({ resource: "PullRequest", code: "missing_field", field: "title" });
  if ([...body.title].length > 256)
    throw invalid({
      resource: "PullRequest",
      code: "custom",
      field: "title",
      message: "title is too long (maximum is 256 characters)",
    });
  const item = await openPull(call.world, call.repository, actorOf(call), {
    title: body.title,
    body: body.body ?? null,
    head: body.head,
    base: body.base,
    isDraft: body.draft,
    maintainerCanModify: body.maintainer_can_modify,
  });
  return created(await pullView(call.world, call.repository, item));
}

async function getPull(call: RepositoryCall): Promise<Answer> {
  return ok(await pullView(call.world, call.repository, pullFrom(call)));
}

async function updatePull(call: RepositoryCall): Promise<Answer> {
  const item = pullFrom(call);
  const { title, body, state, base } = bodyOf(call, ChangedPull);
  checkLength("PullRequest", body);
  if (base !== undefined && base !== item.pull.base) {
    const sha = await call.world.git.ref(call.repository.folder, `refs/heads/${base}`);
    if (sha === null) throw invalid({ resource: "PullRequest", field: "base", code: "invalid" });
    item.pull.base = base;
    item.pull.baseSha = sha;
  }
  await changeItem(call.world, call.repository, actorOf(call), { item, to: { title, body, state } });
  return ok(await pullView(call.world, call.repository, item));
}

async function listFiles(call: RepositoryCall): Promise<Answer> {
  const { world, repository } = call;
  const { pull } = pullFrom(call);
  return page(call, filesView(world, repository, pull.headSha, await filesOf(world, repository, pull)));
}

async function listPullCommits(call: RepositoryCall): Promise<Answer> {
  const { world, repository } = call;
  const { pull } = pullFrom(call);
  const shas = await world.git.commitsBetween(repository.folder, pull.baseSha, pull.headSha);
  const views = shas.map(async (sha) =>
    commitView(world, repository, await world.git.readCommit(repository.folder, sha)),
  );
  return page(call, await Promise.all(views));
}
