import { z } from "zod";
import { type Answer, created, notFound, ok, refused } from "./answer.ts";
import { actorOf } from "./caller.ts";
import type { Person } from "./commit-object.ts";
import type { TreeChange } from "./git-store.ts";
import { bodyOf, page, type RepositoryCall, type Route, textOf } from "./router.ts";
import { lines } from "./routes-repository.ts";
import { repositoryUrl } from "./views.ts";
import { addressOf, commitView, gitCommitView, treeView } from "./views-git.ts";
import { nowOf } from "./world.ts";

export const Sha = z.string().regex(/^[0-9a-f]{40}$/);
const BlobBody = z.object({ content: z.string(), encoding: z.enum(["utf-8", "base64"]).default("utf-8") });
const TreeBody = z.object({
  base_tree: z.string().optional(),
  tree: z.array(
    z.object({
      path: z.string().min(1),
      mode: z.enum(["100644", "100755", "040000", "160000", "120000"]),
      type: z.enum(["blob", "tree", "commit"]).optional(),
      sha: z.string().nullable().optional(),
      content: z.string().optional(),
    }),
  ),
});
const PersonBody = z.object({ name: z.string(), email: z.string(), date: z.string().optional() });
const CommitBody = z.object({
  message: z.string(),
  tree: Sha,
  parents: z.array(Sha).default([]),
  author: PersonBody.optional(),
  committer: PersonBody.optional(),
});

const read = [["contents", "read"]] as const;
const write = [["contents", "write"]] as const;

export const gitRoutes: readonly Route[] = [
  { kind: "repository", method: "POST", path: "/git/blobs", needs: write, handle: createBlob },
  { kind: "repository", method: "GET", path: "/git/blobs/{file_sha}", needs: read, handle: getBlob },
  { kind: "repository", method: "POST", path: "/git/trees", needs: write, handle: createTree },
  { kind: "repository", method: "GET", path: "/git/trees/{tree_sha}", needs: read, handle: getTree },
  { kind: "repository", method: "POST", path: "/git/commits", needs: write, handle: createCommit },
  { kind: "repository", method: "GET", path: "/git/commits/{commit_sha}", needs: read, handle: getGitCommit },
  { kind: "repository", method: "GET", path: "/commits", needs: read, handle: listCommits },
  { kind: "repository", method: "GET", path: "/commits/{ref}", needs: read, handle: getCommit },
];

/** Without a commit there is nothing that the Git Data API could work on. */
export async function checkNotEmpty({ world, repository }: RepositoryCall): Promise<void> {
  if (await world.git.isEmpty(repository.folder)) throw refused(409, "Git Repository is empty.");
}

async function createBlob(call: RepositoryCall): Promise<Answer> {
  await checkNotEmpty(call);
  const { content, encoding } = bodyOf(call, BlobBody);
  if (encoding === "base64" && !/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(content))
    throw refused(422, "content is not valid Base64");
  const bytes = Buffer.from(content, encoding === "base64" ? "base64" : "utf8");
  const sha = await call.world.git.writeBlob(call.repository.folder, bytes);
  return created({ sha, url: `${repositoryUrl(call.world, call.repository)}/git/blobs/${sha}` });
}

async function getBlob(call: RepositoryCall): Promise<Answer> {
  await checkNotEmpty(call);
  const sha = textOf(call, "file_sha");
  if (!Sha.safeParse(sha).success)
    throw refused(422, "The sha parameter must be exactly 40 characters and contain only [0-9a-f].");
  const { world, repository } = call;
  if ((await world.git.typeOf(repository.folder, sha)) !== "blob") throw notFound();
  const bytes = await world.git.readBlob(repository.folder, sha);
  return ok({
    sha,
    node_id: `B_${sha}`,
    size: bytes.length,
    url: `${repositoryUrl(world, repository)}/git/blobs/${sha}`,
    content: lines(bytes.toString("base64")),
    encoding: "base64",
  });
}

async function createTree(call: RepositoryCall): Promise<Answer> {
  await checkNotEmpty(call);
  const { world, repository } = call;
  const body = bodyOf(call, TreeBody);
  const { folder } = repository;
  const base = body.base_tree === undefined ? null : await world.git.resolve(folder, body.base_tree, "tree");
  if (body.base_tree !== undefined && base === null) throw refused(422, "base_tree is not a valid tree oid");
  const changes: TreeChange[] = [];
  for (const entry of body.tree) changes.push(await toChange(call, entry, base));
  const sha = await world.git.writeTree(folder, base, changes);
  return created(treeView(world, repository, sha, await world.git.readTree(folder, sha, false)));
}

type Entry = z.infer<typeof TreeBody>["tree"][number];
const typeOfMode = (mode: string): string => ({ "040000": "tree", "160000": "commit" })[mode] ?? "blob";

async function toChange(call: RepositoryCall, entry: Entry, base: string | null) {
  const { world, repository } = call;
  const { path, mode } = entry;
  if (path.split("/").some((part) => part === "" || part === "." || part === ".." || /^\.git$/i.test(part)))
    throw refused(422, "tree.path contains a malformed path component");
  if (entry.sha === null) {
    const rows = base === null ? [] : await world.git.readTree(repository.folder, base, true);
    if (!rows.some((row) => row.path === path)) throw refused(422, "GitRPC::BadObjectState");
    return { path, mode, sha: null };
  }
  if ((entry.sha === undefined) === (entry.content === undefined))
    throw refused(422, "Must supply either tree.sha or tree.content");
  if (entry.sha === undefined)
    return { path, mode, sha: await world.git.writeBlob(repository.folder, Buffer.from(entry.content ?? "", "utf8")) };
  const wanted = typeOfMode(mode);
  const isThere = wanted === "commit" || (await world.git.typeOf(repository.folder, entry.sha)) === wanted;
  if (!Sha.safeParse(entry.sha).success || !isThere)
    throw refused(422, `tree.sha ${entry.sha} is not a valid ${wanted}`);
  return { path, mode, sha: entry.sha };
}

async function getTree(call: RepositoryCall): Promise<Answer> {
  await checkNotEmpty(call);
  const { world, repository } = call;
  const sha = await world.git.resolve(repository.folder, textOf(call, "tree_sha"), "tree");
  if (sha === null) throw notFound();
  const isRecursive = call.query.has("recursive");
  return ok(treeView(world, repository, sha, await world.git.readTree(repository.folder, sha, isRecursive)));
}

async function createCommit(call: RepositoryCall): Promise<Answer> {
  await checkNotEmpty(call);
  const { world, repository } = call;
  const body = bodyOf(call, CommitBody);
  const { folder } = repository;
  if ((await world.git.typeOf(folder, body.tree)) !== "tree") throw refused(422, "Tree SHA does not exist");
  for (const parent of body.parents)
    if ((await world.git.typeOf(folder, parent)) !== "commit")
      throw refused(422, "Parent SHA does not exist or is not a commit object");
  const { account } = actorOf(call);
  const person = (given: z.infer<typeof PersonBody>): Person => ({ ...given, date: given.date ?? nowOf(world) });
  const self: Person = { name: account.login, email: addressOf(account), date: nowOf(world) };
  const author = body.author === undefined ? self : person(body.author);
  const webFlow: Person = { name: "GitHub", email: "noreply@github.com", date: nowOf(world) };
  const isSigned = body.author === undefined && body.committer === undefined;
  const unsigned = body.committer === undefined ? author : person(body.committer);
  const committer = isSigned ? webFlow : unsigned;
  const draft = { tree: body.tree, parents: body.parents, author, committer, message: body.message, isSigned };
  const sha = await world.git.writeCommit(folder, draft);
  return created(gitCommitView(world, repository, await world.git.readCommit(folder, sha)));
}

async function getGitCommit(call: RepositoryCall): Promise<Answer> {
  await checkNotEmpty(call);
  const { world, repository } = call;
  const sha = textOf(call, "commit_sha");
  if (!Sha.safeParse(sha).success || (await world.git.typeOf(repository.folder, sha)) !== "commit") throw notFound();
  return ok(gitCommitView(world, repository, await world.git.readCommit(repository.folder, sha)));
}

async function listCommits(call: RepositoryCall): Promise<Answer> {
  await checkNotEmpty(call);
  const { world, repository } = call;
  const start = await world.git.resolve(repository.folder, call.query.get("sha") ?? repository.defaultBranch);
  if (start === null) throw notFound();
  const shas = await world.git.history(repository.folder, start);
  const views = shas.map(async (sha) =>
    commitView(world, repository, await world.git.readCommit(repository.folder, sha)),
  );
  return page(call, await Promise.all(views));
}

async function getCommit(call: RepositoryCall): Promise<Answer> {
  await checkNotEmpty(call);
  const { world, repository } = call;
  const ref = textOf(call, "ref");
  const sha = await world.git.resolve(repository.folder, ref);
  if (sha === null) throw refused(422, `No commit found for SHA: ${ref}`);
  const commit = await world.git.readCommit(repository.folder, sha);
  const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
  const files = await world.git.diff(repository.folder, commit.parents[0] ?? emptyTree, sha);
  return ok(commitView(world, repository, commit, files));
}
