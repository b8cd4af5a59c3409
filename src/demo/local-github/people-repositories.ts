import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commitOnce } from "../one-commit.ts";
import type { Hook } from "./hook.ts";
import { tell } from "./tell.ts";
import { accountView, briefRepositoryView, installationPayload, installationView } from "./views.ts";
import {
  type Account,
  fullNameOf,
  type Installation,
  installationOf,
  nowOf,
  type Permissions,
  type Repository,
  type Role,
  repositoryByName,
  type World,
} from "./world.ts";

/** Where a new repository's commits come from. `empty` has none. */
export type RepositorySource =
  | { readonly kind: "empty" }
  /** All files of a folder become one commit on `main`. */
  | { readonly kind: "folder"; readonly folder: string }
  /** All branches of a git repository on this machine. */
  | { readonly kind: "git"; readonly folder: string };

export type NewRepository = {
  readonly owner: string;
  readonly name: string;
  readonly source: RepositorySource;
  /** Default true. */
  readonly isPrivate?: boolean;
  /** Default true: the App may reach it. */
  readonly isInstalled?: boolean;
  readonly isFork?: boolean;
};

/** What owners of repositories and of the installation do. Repositories are named `owner/name`. */
export type RepositoryPeople = ReturnType<typeof createRepositoryPeople>;

export function accountNamed(world: World, login: string): Account {
  const account = world.accounts.get(login.toLowerCase());
  if (account === undefined) throw new Error(`the local GitHub has no account \`${login}\``);
  return account;
}

export function repositoryNamed(world: World, fullName: string): Repository {
  const [owner = "", name = ""] = fullName.split("/");
  const former = world.formerNames.get(fullName.toLowerCase());
  const repository = repositoryByName(world, owner, name) ?? world.repositories.get(former ?? 0);
  if (repository === undefined) throw new Error(`the local GitHub has no repository \`${fullName}\``);
  return repository;
}

export function createRepositoryPeople(world: World, hook: Hook, folder: string) {
  const repository = (name: string): Repository => repositoryNamed(world, name);
  const owner = (one: Repository) => ({ account: one.owner, viaApp: false });
  const tellRepository = (one: Repository, action: string, more = {}): void =>
    tell(world, one, { event: "repository", action, by: owner(one) }, more);
  return {
    createAccount(login: string, type: Account["type"] = "User"): Account {
      const account: Account = { id: world.nextId(), login, type };
      world.accounts.set(login.toLowerCase(), account);
      return account;
    },
    async createRepository(given: NewRepository, signal: AbortSignal): Promise<Repository> {
      const made = await makeRepository(world, folder, given, signal);
      world.repositories.set(made.id, made);
      if (given.isInstalled ?? true) installationFor(world, made.owner).repositoryIds.add(made.id);
      return made;
    },
    addCollaborator(name: string, login: string, role: Role): void {
      repository(name).collaborators.set(accountNamed(world, login).login.toLowerCase(), role);
    },
    archive(name: string, isArchived = true): void {
      const one = repository(name);
      one.isArchived = isArchived;
      tellRepository(one, isArchived ? "archived" : "unarchived");
    },
    /** By GitHub itself; no event is sent. */
    disable(name: string, isDisabled = true): void {
      repository(name).isDisabled = isDisabled;
    },
    /** For legal reasons, by GitHub itself; no event is sent. */
    block(name: string, isBlocked = true): void {
      repository(name).isBlocked = isBlocked;
    },
    rename(name: string, to: string): void {
      const one = repository(name);
      const before = one.name;
      world.formerNames.set(fullNameOf(one).toLowerCase(), one.id);
      one.name = to;
      tellRepository(one, "renamed", { changes: { repository: { name: { from: before } } } });
    },
    /** To another owner, where the App isn't installed. */
    transfer(name: string, to: string): void {
      const one = repository(name);
      const before = one.owner;
      world.formerNames.set(fullNameOf(one).toLowerCase(), one.id);
      one.owner = accountNamed(world, to);
      const from = { [before.type === "User" ? "user" : "organization"]: accountView(world, before) };
      tellRepository(one, "transferred", { changes: { owner: { from } } });
      for (const installation of world.installations.values()) installation.repositoryIds.delete(one.id);
    },
    /** As in private repositories of some plans. */
    refuseDrafts(name: string): void {
      repository(name).takesDrafts = false;
    },
    deleteRepository(name: string): void {
      const one = repository(name);
      tellRepository(one, "deleted");
      world.repositories.delete(one.id);
      for (const installation of world.installations.values()) installation.repositoryIds.delete(one.id);
    },
    /** A rule of a branch, or of all that begin with what stands before `*`; `message` is what GitHub says when it is broken. */
    protectBranch(name: string, branch: string, message: string): void {
      repository(name).rules.push({ branch, message });
    },
    installationId(name: string): number {
      const installation = installationOf(world, repository(name));
      if (installation === null) throw new Error(`the App is not installed on \`${name}\``);
      return installation.id;
    },
    addToInstallation: (name: string): void => changeReach(world, hook, repository(name), "added"),
    removeFromInstallation: (name: string): void => changeReach(world, hook, repository(name), "removed"),
    setPermissions(installationId: number, permissions: Permissions): void {
      const installation = world.installations.get(installationId);
      if (installation !== undefined) installation.permissions = permissions;
    },
    suspend: (installationId: number): void => changeInstallation(world, hook, installationId, "suspend"),
    unsuspend: (installationId: number): void => changeInstallation(world, hook, installationId, "unsuspend"),
    uninstall: (installationId: number): void => changeInstallation(world, hook, installationId, "deleted"),
  };
}

async function makeRepository(
  world: World,
  folder: string,
  given: NewRepository,
  signal: AbortSignal,
): Promise<Repository> {
  const id = world.nextId();
  const bare = join(folder, `${id}.git`);
  await world.git.init(bare);
  const defaultBranch = await fill(world, bare, given.source, signal);
  return {
    id,
    folder: bare,
    createdAt: nowOf(world),
    isFork: given.isFork ?? false,
    owner: accountNamed(world, given.owner),
    name: given.name,
    defaultBranch,
    isPrivate: given.isPrivate ?? true,
    isArchived: false,
    isDisabled: false,
    isBlocked: false,
    takesDrafts: true,
    updatedAt: nowOf(world),
    collaborators: new Map(),
    labels: new Map(),
    items: new Map(),
    comments: new Map(),
    reviews: new Map(),
    reviewComments: new Map(),
    reactions: new Map(),
    checkRuns: new Map(),
    checkSuites: new Map(),
    rules: [],
  };
}

async function fill(world: World, bare: string, source: RepositorySource, signal: AbortSignal): Promise<string> {
  if (source.kind === "empty") return "main";
  if (source.kind === "git") return world.git.takeOver(bare, source.folder);
  const copy = await mkdtemp(join(tmpdir(), "countersign-files-"));
  try {
    await cp(source.folder, copy, { recursive: true });
    await commitOnce(copy, "First commit", signal);
    return await world.git.takeOver(bare, copy);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** One installation an owner, as on GitHub. */
function installationFor(world: World, account: Account): Installation {
  const present = [...world.installations.values()].find((one) => one.account.id === account.id);
  if (present !== undefined) return present;
  const installation: Installation = {
    id: world.nextId(),
    account,
    createdAt: nowOf(world),
    permissions: world.app.permissions,
    suspendedAt: null,
    repositoryIds: new Set(),
  };
  world.installations.set(installation.id, installation);
  return installation;
}

function changeReach(world: World, hook: Hook, repository: Repository, action: "added" | "removed"): void {
  const installation = installationFor(world, repository.owner);
  if (action === "added") installation.repositoryIds.add(repository.id);
  else installation.repositoryIds.delete(repository.id);
  const brief = [briefRepositoryView(repository)];
  hook.emit({
    event: "installation_repositories",
    action,
    repository: null,
    installation,
    payload: {
      action,
      installation: installationPayload(world, installation),
      repository_selection: "selected",
      repositories_added: action === "added" ? brief : [],
      repositories_removed: action === "removed" ? brief : [],
      requester: null,
      sender: accountView(world, repository.owner),
    },
  });
}

function changeInstallation(
  world: World,
  hook: Hook,
  installationId: number,
  action: "suspend" | "unsuspend" | "deleted",
): void {
  const installation = world.installations.get(installationId);
  if (installation === undefined) throw new Error(`there is no installation ${installationId}`);
  if (action === "suspend") installation.suspendedAt = nowOf(world);
  if (action === "unsuspend") installation.suspendedAt = null;
  const repositories = [...installation.repositoryIds].flatMap((id) => world.repositories.get(id) ?? []);
  if (action === "deleted") world.installations.delete(installationId);
  hook.emit({
    event: "installation",
    action,
    repository: null,
    installation,
    payload: {
      action,
      installation:
        action === "deleted" ? installationPayload(world, installation) : installationView(world, installation),
      repositories: repositories.map(briefRepositoryView),
      requester: null,
      sender: accountView(world, installation.account),
    },
  });
}
