import type { JsonObject } from "../../domain/index.ts";
import {
  type Account,
  type App,
  fullNameOf,
  type Installation,
  type Repository,
  roleOf,
  timeOf,
  type World,
} from "./world.ts";

export const apiOf = (world: World): string => `${world.origin}/api/v3`;
export const repositoryUrl = (world: World, repository: Repository): string =>
  `${apiOf(world)}/repos/${fullNameOf(repository)}`;
export const pageUrl = (world: World, repository: Repository): string => `${world.origin}/${fullNameOf(repository)}`;

/** GitHub's opaque ids: ours tell kind and number, as theirs do. */
export const nodeId = (kind: string, id: number | string): string =>
  `${kind}_${Buffer.from(`${kind}:${id}`).toString("base64url")}`;

export function accountView(world: World, account: Account): JsonObject {
  const url = `${apiOf(world)}/users/${encodeURIComponent(account.login)}`;
  return {
    login: account.login,
    id: account.id,
    node_id: nodeId("U", account.id),
    avatar_url: `${world.origin}/avatars/${account.id}`,
    gravatar_id: "",
    url,
    html_url: `${world.origin}/${encodeURIComponent(account.login)}`,
    followers_url: `${url}/followers`,
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/subscriptions`,
    organizations_url: `${url}/orgs`,
    repos_url: `${url}/repos`,
    events_url: `${url}/events{/privacy}`,
    received_events_url: `${url}/received_events`,
    type: account.type,
    site_admin: false,
  };
}

export const publicAccountView = (world: World, account: Account): JsonObject => ({
  ...accountView(world, account),
  name: null,
  company: null,
  blog: "",
  location: null,
  email: null,
  hireable: null,
  bio: null,
  public_repos: 0,
  public_gists: 0,
  followers: 0,
  following: 0,
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-01T00:00:00Z",
});

/** Links of a repository: name of the field, and what follows the repository's own address. */
const repositoryLinks = {
  forks_url: "/forks",
  keys_url: "/keys{/key_id}",
  collaborators_url: "/collaborators{/collaborator}",
  teams_url: "/teams",
  hooks_url: "/hooks",
  issue_events_url: "/issues/events{/number}",
  events_url: "/events",
  assignees_url: "/assignees{/user}",
  branches_url: "/branches{/branch}",
  tags_url: "/tags",
  blobs_url: "/git/blobs{/sha}",
  git_tags_url: "/git/tags{/sha}",
  git_refs_url: "/git/refs{/sha}",
  trees_url: "/git/trees{/sha}",
  statuses_url: "/statuses/{sha}",
  languages_url: "/languages",
  stargazers_url: "/stargazers",
  contributors_url: "/contributors",
  subscribers_url: "/subscribers",
  subscription_url: "/subscription",
  commits_url: "/commits{/sha}",
  git_commits_url: "/git/commits{/sha}",
  comments_url: "/comments{/number}",
  issue_comment_url: "/issues/comments{/number}",
  contents_url: "/contents/{+path}",
  compare_url: "/compare/{base}...{head}",
  merges_url: "/merges",
  archive_url: "/{archive_format}{/ref}",
  downloads_url: "/downloads",
  issues_url: "/issues{/number}",
  pulls_url: "/pulls{/number}",
  milestones_url: "/milestones{/number}",
  notifications_url: "/notifications{?since,all,participating}",
  labels_url: "/labels{/name}",
  releases_url: "/releases{/id}",
  deployments_url: "/deployments",
};

export function repositoryView(world: World, repository: Repository): JsonObject {
  const url = repositoryUrl(world, repository);
  const html = pageUrl(world, repository);
  const open = [...repository.items.values()].filter((item) => item.state === "open" && !item.isDeleted).length;
  return {
    id: repository.id,
    node_id: nodeId("R", repository.id),
    name: repository.name,
    full_name: fullNameOf(repository),
    private: repository.isPrivate,
    owner: accountView(world, repository.owner),
    html_url: html,
    description: null,
    fork: repository.isFork,
    url,
    ...Object.fromEntries(Object.entries(repositoryLinks).map(([name, rest]) => [name, `${url}${rest}`])),
    created_at: repository.createdAt,
    updated_at: repository.updatedAt,
    pushed_at: repository.updatedAt,
    git_url: `${html.replace(/^http:/, "git:")}.git`,
    ssh_url: `git@127.0.0.1:${fullNameOf(repository)}.git`,
    clone_url: `${html}.git`,
    svn_url: html,
    homepage: null,
    size: 1,
    stargazers_count: 0,
    watchers_count: 0,
    language: null,
    has_issues: true,
    has_projects: false,
    has_downloads: true,
    has_wiki: false,
    has_pages: false,
    has_discussions: false,
    forks_count: 0,
    mirror_url: null,
    archived: repository.isArchived,
    disabled: repository.isDisabled,
    open_issues_count: open,
    license: null,
    allow_forking: true,
    is_template: false,
    web_commit_signoff_required: false,
    topics: [],
    visibility: repository.isPrivate ? "private" : "public",
    forks: 0,
    open_issues: open,
    watchers: 0,
    default_branch: repository.defaultBranch,
    custom_properties: {},
  };
}

export const fullRepositoryView = (world: World, repository: Repository): JsonObject => ({
  ...repositoryView(world, repository),
  permissions: { admin: false, maintain: false, push: false, triage: false, pull: false },
  network_count: 0,
  subscribers_count: 0,
});

/** The five facts that payloads of installations give about a repository. */
export const briefRepositoryView = (repository: Repository): JsonObject => ({
  id: repository.id,
  node_id: nodeId("R", repository.id),
  name: repository.name,
  full_name: fullNameOf(repository),
  private: repository.isPrivate,
});

const appMadeAt = "2026-01-01T00:00:00Z";

export const appView = (world: World, app: App = world.app): JsonObject => ({
  id: app.id,
  slug: app.slug,
  client_id: app.clientId,
  node_id: nodeId("A", app.id),
  owner: accountView(world, app.owner),
  name: app.name,
  description: "",
  external_url: world.origin,
  html_url: `${world.origin}/apps/${app.slug}`,
  created_at: appMadeAt,
  updated_at: appMadeAt,
  permissions: app.permissions,
  events: app.events,
});

export const installationView = (world: World, installation: Installation): JsonObject => ({
  id: installation.id,
  account: accountView(world, installation.account),
  repository_selection: "selected",
  access_tokens_url: `${apiOf(world)}/app/installations/${installation.id}/access_tokens`,
  repositories_url: `${apiOf(world)}/installation/repositories`,
  html_url: `${world.origin}/settings/installations/${installation.id}`,
  app_id: world.app.id,
  app_slug: world.app.slug,
  client_id: world.app.clientId,
  target_id: installation.account.id,
  target_type: installation.account.type,
  permissions: installation.permissions,
  events: world.app.events,
  created_at: installation.createdAt,
  updated_at: installation.createdAt,
  single_file_name: null,
  has_multiple_single_files: false,
  single_file_paths: [],
  suspended_by: installation.suspendedAt === null ? null : accountView(world, installation.account),
  suspended_at: installation.suspendedAt,
});

/** In most payloads, times of an installation are seconds since 1970; when it is suspended they are text. */
export function installationPayload(world: World, installation: Installation): JsonObject {
  const madeAt = Date.parse(installation.createdAt) / 1000;
  return { ...installationView(world, installation), created_at: madeAt, updated_at: madeAt };
}

export const tokenTime = (ms: number): string => timeOf(ms);

/** What someone is to a repository, as GitHub says beside their texts. */
export function associationOf(repository: Repository, account: Account): string {
  const role = roleOf(repository, account.login);
  if (repository.owner.id === account.id) return "OWNER";
  if (role === "none" || !repository.collaborators.has(account.login.toLowerCase())) return "NONE";
  return "COLLABORATOR";
}
