import { refused } from "./answer.ts";
import { type Actor, tell } from "./tell.ts";
import { isPull, pullView } from "./views-pull.ts";
import { nowOf, type Permissions, type Repository, type World } from "./world.ts";

export type RefChange = {
  /** Whole name, such as `refs/heads/main`. */
  readonly name: string;
  /** Null: the ref goes. */
  readonly sha: string | null;
  readonly isForced: boolean;
};

const noObject = "0".repeat(40);
const branchPrefix = "refs/heads/";

/** Moves, makes or removes a ref under all the rules that GitHub has for it, and tells what follows from it. */
export async function changeRef(
  world: World,
  repository: Repository,
  by: Actor,
  change: RefChange & { readonly permissions: Permissions },
): Promise<void> {
  const before = await world.git.ref(repository.folder, change.name);
  checkRules(repository, change);
  if (change.sha !== null) {
    if (before !== null && !change.isForced && !(await world.git.isAncestor(repository.folder, before, change.sha)))
      throw refused(422, "Update is not a fast forward");
    await checkWorkflows(world, repository, { ...change, sha: change.sha, before });
    if (!(await world.git.setRef(repository.folder, change.name, change.sha, before)))
      throw refused(409, "Reference cannot be updated");
  } else await world.git.deleteRef(repository.folder, change.name);
  repository.updatedAt = nowOf(world);
  if (!change.name.startsWith(branchPrefix)) return;
  tellPush(world, repository, by, { name: change.name, before, after: change.sha });
  await followPulls(world, repository, by, { branch: change.name.slice(branchPrefix.length), sha: change.sha });
}

function checkRules(repository: Repository, change: RefChange): void {
  const rule = repository.rules.find(({ branch }) => `${branchPrefix}${branch}` === change.name);
  const wide = repository.rules.find(
    ({ branch }) => branch.endsWith("*") && change.name.startsWith(`${branchPrefix}${branch.slice(0, -1)}`),
  );
  const broken = rule ?? wide;
  if (broken !== undefined)
    throw refused(422, `Repository rule violations found\n\n${broken.message}\n\n`, { errors: [{ code: "GH013" }] });
}

const workflowFolder = ".github/workflows/";

/** GitHub looks at what a ref would newly reach: an App without `workflows` can't bring or change a workflow file. */
async function checkWorkflows(
  world: World,
  repository: Repository,
  change: { readonly sha: string; readonly before: string | null; readonly permissions: Permissions },
): Promise<void> {
  if (change.permissions["workflows"] === "write") return;
  const { git } = world;
  const known = change.before ?? (await git.resolve(repository.folder, `refs/heads/${repository.defaultBranch}`));
  const base = known === null ? null : await git.mergeBase(repository.folder, known, change.sha);
  const touched =
    base === null
      ? (await git.readTree(repository.folder, change.sha, true)).map((row) => row.path)
      : (await git.diff(repository.folder, base, change.sha)).flatMap((file) => [file.path, file.previousPath ?? ""]);
  const workflow = touched.find((path) => path.startsWith(workflowFolder));
  if (workflow !== undefined)
    throw refused(
      403,
      `refusing to allow a GitHub App to create or update workflow \`${workflow}\` without \`workflows\` permission`,
    );
}

function tellPush(
  world: World,
  repository: Repository,
  by: Actor,
  push: { readonly name: string; readonly before: string | null; readonly after: string | null },
): void {
  tell(
    world,
    repository,
    { event: "push", action: null, by },
    {
      ref: push.name,
      before: push.before ?? noObject,
      after: push.after ?? noObject,
      created: push.before === null,
      deleted: push.after === null,
      forced: false,
      base_ref: null,
      compare: world.origin,
      commits: [],
      head_commit: null,
      pusher: { name: by.account.login, email: null },
    },
  );
}

/** Open pull requests follow their branches; without its head branch one is closed. */
async function followPulls(
  world: World,
  repository: Repository,
  by: Actor,
  moved: { readonly branch: string; readonly sha: string | null },
): Promise<void> {
  for (const item of repository.items.values()) {
    if (!isPull(item) || item.state !== "open") continue;
    const { pull } = item;
    if (pull.base === moved.branch && moved.sha !== null) pull.baseSha = moved.sha;
    if (pull.head !== moved.branch) continue;
    const told = { event: "pull_request", by };
    item.updatedAt = nowOf(world);
    if (moved.sha === null) {
      item.state = "closed";
      item.closedAt = nowOf(world);
      const view = await pullView(world, repository, item);
      tell(world, repository, { ...told, action: "closed" }, { number: item.number, pull_request: view });
      continue;
    }
    const before = pull.headSha;
    pull.headSha = moved.sha;
    await world.git.setRef(repository.folder, `refs/pull/${item.number}/head`, moved.sha, before);
    const view = await pullView(world, repository, item);
    const more = { number: item.number, before, after: moved.sha, pull_request: view };
    tell(world, repository, { ...told, action: "synchronize" }, more);
  }
}
