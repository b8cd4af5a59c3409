import { z } from "zod";
import type { JsonObject } from "../../domain/index.ts";
import { type Answer, created, noContent, notFound, ok, refused } from "./answer.ts";
import { actorOf, permissionsOf } from "./caller.ts";
import { changeRef } from "./change-refs.ts";
import { bodyOf, page, type RepositoryCall, type Route, textOf } from "./router.ts";
import { checkNotEmpty, Sha } from "./routes-git.ts";
import { refView } from "./views-git.ts";

const NewRef = z.object({ ref: z.string(), sha: Sha });
const MovedRef = z.object({ sha: Sha, force: z.boolean().default(false) });

const read = [["contents", "read"]] as const;
const write = [["contents", "write"]] as const;

export const refRoutes: readonly Route[] = [
  { kind: "repository", method: "GET", path: "/git/matching-refs/{ref}", needs: read, handle: matchingRefs },
  { kind: "repository", method: "GET", path: "/git/ref/{ref}", needs: read, handle: getRef },
  { kind: "repository", method: "POST", path: "/git/refs", needs: write, handle: createRef },
  { kind: "repository", method: "PATCH", path: "/git/refs/{ref}", needs: write, handle: updateRef },
  { kind: "repository", method: "DELETE", path: "/git/refs/{ref}", needs: write, handle: deleteRef },
];

async function matchingRefs(call: RepositoryCall): Promise<Answer> {
  const { world, repository } = call;
  await checkNotEmpty(call);
  const refs = await world.git.refs(repository.folder, `refs/${textOf(call, "ref")}`);
  return page(
    call,
    refs.map((ref) => refView(world, repository, ref)),
  );
}

async function refAnswer(call: RepositoryCall, name: string): Promise<JsonObject | null> {
  const { world, repository } = call;
  const sha = await world.git.ref(repository.folder, name);
  if (sha === null) return null;
  const type = (await world.git.typeOf(repository.folder, sha)) ?? "commit";
  return refView(world, repository, { name, sha, type });
}

async function getRef(call: RepositoryCall): Promise<Answer> {
  await checkNotEmpty(call);
  const view = await refAnswer(call, `refs/${textOf(call, "ref")}`);
  if (view === null) throw notFound();
  return ok(view);
}

async function createRef(call: RepositoryCall): Promise<Answer> {
  await checkNotEmpty(call);
  const { world, repository } = call;
  const { ref, sha } = bodyOf(call, NewRef);
  const isName = /^refs\/[^/]+\/.+/.test(ref) && !ref.startsWith("refs/pull/");
  if (!isName || !(await world.git.isRefName(repository.folder, ref)))
    throw refused(
      422,
      "Reference name must start with 'refs/' and have at least two slashes, and be a valid ref name.",
    );
  await checkObject(call, ref, sha);
  if ((await world.git.ref(repository.folder, ref)) !== null) throw refused(422, "Reference already exists");
  const change = { name: ref, sha, isForced: false, permissions: permissionsOf(call) };
  await changeRef(world, repository, actorOf(call), change);
  return created((await refAnswer(call, ref)) ?? {});
}

async function checkObject(call: RepositoryCall, ref: string, sha: string): Promise<void> {
  const type = await call.world.git.typeOf(call.repository.folder, sha);
  if (type === null) throw refused(422, "Object does not exist");
  if (ref.startsWith("refs/heads/") && type !== "commit") throw refused(422, "Object is not a commit");
}

async function updateRef(call: RepositoryCall): Promise<Answer> {
  await checkNotEmpty(call);
  const { world, repository } = call;
  const name = `refs/${textOf(call, "ref")}`;
  const { sha, force } = bodyOf(call, MovedRef);
  if ((await world.git.ref(repository.folder, name)) === null) throw refused(422, "Reference does not exist");
  await checkObject(call, name, sha);
  const change = { name, sha, isForced: force, permissions: permissionsOf(call) };
  await changeRef(world, repository, actorOf(call), change);
  return ok((await refAnswer(call, name)) ?? {});
}

async function deleteRef(call: RepositoryCall): Promise<Answer> {
  await checkNotEmpty(call);
  const { world, repository } = call;
  const name = `refs/${textOf(call, "ref")}`;
  if ((await world.git.ref(repository.folder, name)) === null) throw refused(422, "Reference does not exist");
  const change = { name, sha: null, isForced: true, permissions: permissionsOf(call) };
  await changeRef(world, repository, actorOf(call), change);
  return noContent;
}
