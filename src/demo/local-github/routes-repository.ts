import { type Answer, notFound, ok, refused } from "./answer.ts";
import { page, type RepositoryCall, type Route, textOf } from "./router.ts";
import { accountView, apiOf, fullRepositoryView, pageUrl, repositoryUrl } from "./views.ts";
import { commitView, filesView } from "./views-git.ts";
import { fullNameOf, type Role, roleOf } from "./world.ts";

const metadata = [["metadata", "read"]] as const;
const contents = [["contents", "read"]] as const;

export const repositoryRoutes: readonly Route[] = [
  {
    kind: "repository",
    method: "GET",
    path: "",
    needs: metadata,
    handle: ({ world, repository }) => ok(fullRepositoryView(world, repository)),
  },
  {
    kind: "repository",
    method: "GET",
    path: "/collaborators/{username}/permission",
    needs: metadata,
    handle: (call) => {
      const account = call.world.accounts.get(textOf(call, "username").toLowerCase());
      if (account === undefined) throw notFound();
      const role = roleOf(call.repository, account.login);
      const user = { ...accountView(call.world, account), permissions: permissionsOf(role), role_name: role };
      return ok({ permission: legacyRoles[role], user, role_name: role });
    },
  },
  {
    kind: "repository",
    method: "GET",
    path: "/branches",
    needs: contents,
    handle: async (call) => {
      const refs = await call.world.git.refs(call.repository.folder, "refs/heads/");
      return page(
        call,
        refs.map((ref) => ({
          name: ref.name.slice("refs/heads/".length),
          commit: { sha: ref.sha, url: `${repositoryUrl(call.world, call.repository)}/commits/${ref.sha}` },
          protected: isProtected(call, ref.name.slice("refs/heads/".length)),
        })),
      );
    },
  },
  { kind: "repository", method: "GET", path: "/branches/{branch}", needs: contents, handle: getBranch },
  { kind: "repository", method: "GET", path: "/compare/{basehead}", needs: contents, handle: compare },
  { kind: "repository", method: "GET", path: "/contents/{path}", needs: contents, handle: getContents },
];

/** The older word for each role, which is the one that decides (GitHub maps maintain to write and triage to read). */
const legacyRoles: Readonly<Record<Role, string>> = {
  admin: "admin",
  maintain: "write",
  write: "write",
  triage: "read",
  read: "read",
  none: "none",
};

function permissionsOf(role: Role): Readonly<Record<string, boolean>> {
  const order: readonly Role[] = ["none", "read", "triage", "write", "maintain", "admin"];
  const has = (least: Role): boolean => order.indexOf(role) >= order.indexOf(least);
  return {
    admin: has("admin"),
    maintain: has("maintain"),
    push: has("write"),
    triage: has("triage"),
    pull: has("read"),
  };
}

const isProtected = (call: RepositoryCall, branch: string): boolean =>
  call.repository.rules.some((rule) => rule.branch === branch);

async function getBranch(call: RepositoryCall): Promise<Answer> {
  const { world, repository } = call;
  const name = textOf(call, "branch");
  const sha = await world.git.ref(repository.folder, `refs/heads/${name}`);
  if (sha === null) throw refused(404, "Branch not found");
  const url = `${repositoryUrl(world, repository)}/branches/${name.split("/").map(encodeURIComponent).join("/")}`;
  return ok({
    name,
    commit: commitView(world, repository, await world.git.readCommit(repository.folder, sha)),
    _links: { self: url, html: `${pageUrl(world, repository)}/tree/${name}` },
    protected: isProtected(call, name),
    protection: {
      enabled: isProtected(call, name),
      required_status_checks: { enforcement_level: "off", contexts: [], checks: [] },
    },
    protection_url: `${url}/protection`,
  });
}

async function compare(call: RepositoryCall): Promise<Answer> {
  const { world, repository } = call;
  const { git } = world;
  const [base, head] = textOf(call, "basehead").split("...");
  const baseSha = base === undefined ? null : await git.resolve(repository.folder, base);
  const headSha = head === undefined ? null : await git.resolve(repository.folder, head);
  if (baseSha === null || headSha === null) throw notFound();
  const from = await git.mergeBase(repository.folder, baseSha, headSha);
  if (from === null) throw refused(404, `No common ancestor between ${base} and ${head}.`);
  const ahead = await git.commitsBetween(repository.folder, baseSha, headSha);
  const behind = await git.commitsBetween(repository.folder, headSha, baseSha);
  const view = async (sha: string) => commitView(world, repository, await git.readCommit(repository.folder, sha));
  const html = `${pageUrl(world, repository)}/compare/${base}...${head}`;
  const commits = page(call, await Promise.all(ahead.map(view)));
  return {
    ...commits,
    body: {
      url: `${repositoryUrl(world, repository)}/compare/${base}...${head}`,
      html_url: html,
      permalink_url: html,
      diff_url: `${html}.diff`,
      patch_url: `${html}.patch`,
      base_commit: await view(baseSha),
      merge_base_commit: await view(from),
      status: statusOf(ahead.length, behind.length),
      ahead_by: ahead.length,
      behind_by: behind.length,
      total_commits: ahead.length,
      commits: commits.body ?? [],
      files: filesView(world, repository, headSha, await git.diff(repository.folder, from, headSha)),
    },
  };
}

function statusOf(ahead: number, behind: number): string {
  if (ahead > 0 && behind > 0) return "diverged";
  if (ahead > 0) return "ahead";
  return behind > 0 ? "behind" : "identical";
}

async function getContents(call: RepositoryCall): Promise<Answer> {
  const { world, repository } = call;
  const { git } = world;
  const path = textOf(call, "path").replace(/\/$/, "");
  const ref = call.query.get("ref") ?? repository.defaultBranch;
  const commit = await git.resolve(repository.folder, ref);
  if (commit === null) throw refused(404, `No commit found for the ref ${ref}`);
  const rows = await git.readTree(repository.folder, commit, true);
  const row = rows.find((one) => one.path === path);
  if (row === undefined) throw notFound();
  const view = (one: (typeof rows)[number]) => {
    const rest = one.path.split("/").map(encodeURIComponent).join("/");
    const url = `${repositoryUrl(world, repository)}/contents/${rest}?ref=${encodeURIComponent(ref)}`;
    const gitUrl = `${repositoryUrl(world, repository)}/git/${one.type}s/${one.sha}`;
    const html = `${pageUrl(world, repository)}/blob/${ref}/${rest}`;
    return {
      name: one.path.split("/").at(-1) ?? "",
      path: one.path,
      sha: one.sha,
      size: one.size ?? 0,
      url,
      html_url: html,
      git_url: gitUrl,
      download_url: one.type === "blob" ? `${apiOf(world)}/raw/${fullNameOf(repository)}/${ref}/${rest}` : null,
      type: one.type === "tree" ? "dir" : "file",
      _links: { self: url, git: gitUrl, html },
    };
  };
  if (row.type === "tree") return ok(rows.filter((one) => one.path.replace(/\/?[^/]+$/, "") === path).map(view));
  const bytes = await git.readBlob(repository.folder, row.sha);
  return ok({ ...view(row), content: lines(bytes.toString("base64")), encoding: "base64" });
}

/** GitHub breaks base64 after 60 characters. */
export const lines = (base64: string): string => base64.replaceAll(/.{60}/g, "$&\n").replace(/(?<!\n)$/, "\n");
