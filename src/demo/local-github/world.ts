import type { KeyObject } from "node:crypto";
import type { Clock, JsonObject, RandomBytes } from "../../domain/index.ts";
import type { GitStore } from "./git-store.ts";

/** What the App or a collaborator may do. GitHub's own words. */
export type Level = "read" | "write";
export type Permissions = Readonly<Record<string, string>>;
export type Role = "admin" | "maintain" | "write" | "triage" | "read" | "none";

export type Account = {
  readonly id: number;
  readonly login: string;
  readonly type: "User" | "Bot" | "Organization";
};

export type Label = {
  readonly id: number;
  readonly name: string;
  readonly color: string;
  readonly description: string;
};

export type Comment = {
  readonly id: number;
  readonly item: number;
  readonly author: Account;
  readonly viaApp: boolean;
  readonly createdAt: string;
  body: string;
  updatedAt: string;
};

export type Pull = {
  readonly id: number;
  /** The branch's name; null once its repository is gone. */
  head: string | null;
  base: string;
  headSha: string;
  baseSha: string;
  isDraft: boolean;
  mergedAt: string | null;
  readonly maintainerCanModify: boolean;
};

/** An issue or a pull request: they share their numbers, labels and comments. */
export type Item = {
  readonly id: number;
  readonly number: number;
  readonly author: Account;
  readonly viaApp: boolean;
  readonly createdAt: string;
  readonly pull: Pull | null;
  readonly labels: Set<string>;
  title: string;
  body: string | null;
  state: "open" | "closed";
  stateReason: string | null;
  isLocked: boolean;
  lockReason: string | null;
  isDeleted: boolean;
  /** The API's address of it, after a transfer to another repository. */
  movedTo: string | null;
  updatedAt: string;
  closedAt: string | null;
};

export type Review = {
  readonly id: number;
  readonly pull: number;
  readonly author: Account;
  readonly state: "APPROVED" | "CHANGES_REQUESTED" | "COMMENTED" | "PENDING";
  readonly body: string;
  readonly commitSha: string;
  readonly submittedAt: string;
};

export type ReviewComment = {
  readonly id: number;
  readonly pull: number;
  readonly reviewId: number;
  readonly author: Account;
  readonly path: string;
  readonly line: number;
  readonly side: "LEFT" | "RIGHT";
  readonly diffHunk: string;
  readonly commitSha: string;
  readonly inReplyTo: number | null;
  readonly createdAt: string;
  body: string;
  updatedAt: string;
};

export type ReactionPlace = `issue:${number}` | `comment:${number}` | `review_comment:${number}`;
export type Reaction = {
  readonly id: number;
  readonly place: ReactionPlace;
  readonly author: Account;
  readonly content: string;
  readonly createdAt: string;
};

export type CheckOutput = {
  readonly title: string | null;
  readonly summary: string | null;
  readonly text: string | null;
};
export type CheckRun = {
  readonly id: number;
  readonly suiteId: number;
  readonly headSha: string;
  readonly appId: number;
  name: string;
  externalId: string;
  detailsUrl: string | null;
  status: string;
  conclusion: string | null;
  startedAt: string | null;
  completedAt: string | null;
  output: CheckOutput;
  actions: readonly JsonObject[];
};

export type CheckSuite = {
  readonly id: number;
  readonly headSha: string;
  readonly appId: number;
  readonly headBranch: string | null;
  readonly createdAt: string;
};

/** A rule on branches: a prefix or a whole name, and what GitHub says when it is broken. */
export type BranchRule = { readonly branch: string; readonly message: string };

export type Repository = {
  readonly id: number;
  readonly folder: string;
  readonly createdAt: string;
  readonly isFork: boolean;
  owner: Account;
  name: string;
  defaultBranch: string;
  isPrivate: boolean;
  isArchived: boolean;
  isDisabled: boolean;
  /** Blocked for legal reasons: 451. */
  isBlocked: boolean;
  /** Some plans of GitHub have no drafts in private repositories. */
  takesDrafts: boolean;
  updatedAt: string;
  readonly collaborators: Map<string, Role>;
  readonly labels: Map<string, Label>;
  readonly items: Map<number, Item>;
  readonly comments: Map<number, Comment>;
  readonly reviews: Map<number, Review>;
  readonly reviewComments: Map<number, ReviewComment>;
  readonly reactions: Map<number, Reaction>;
  readonly checkRuns: Map<number, CheckRun>;
  readonly checkSuites: Map<number, CheckSuite>;
  readonly rules: BranchRule[];
};

export type Installation = {
  readonly id: number;
  readonly account: Account;
  readonly createdAt: string;
  permissions: Permissions;
  suspendedAt: string | null;
  readonly repositoryIds: Set<number>;
};

export type InstallationToken = {
  readonly token: string;
  readonly installationId: number;
  readonly repositoryIds: ReadonlySet<number> | null;
  readonly permissions: Permissions;
  readonly expiresAtMs: number;
};

export type App = {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  readonly clientId: string;
  readonly publicKey: KeyObject;
  readonly owner: Account;
  readonly bot: Account;
  readonly permissions: Permissions;
  readonly events: readonly string[];
};

/** Everything that this GitHub knows. Git objects and refs live in bare repositories on disk, behind `git`. */
export type World = {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly git: GitStore;
  readonly app: App;
  /** `http://127.0.0.1:<port>` without a slash at its end. */
  readonly origin: string;
  readonly accounts: Map<string, Account>;
  readonly installations: Map<number, Installation>;
  readonly repositories: Map<number, Repository>;
  /** Former `owner/name` in lower case to the repository's id. */
  readonly formerNames: Map<string, number>;
  readonly tokens: Map<string, InstallationToken>;
  readonly emit: (event: Emitted) => void;
  readonly nextId: () => number;
};

/** A change that GitHub tells the App about. */
export type Emitted = {
  readonly event: string;
  readonly action: string | null;
  readonly payload: JsonObject;
  readonly repository: Repository | null;
  readonly installation?: Installation;
};

/** The time as GitHub writes it: seconds, UTC. */
export const timeOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;
export const nowOf = (world: World): string => timeOf(world.clock());

export const fullNameOf = (repository: Repository): string => `${repository.owner.login}/${repository.name}`;

export function repositoryByName(world: World, owner: string, name: string): Repository | null {
  const wanted = `${owner}/${name}`.toLowerCase();
  for (const repository of world.repositories.values())
    if (fullNameOf(repository).toLowerCase() === wanted) return repository;
  return null;
}

export const installationOf = (world: World, repository: Repository): Installation | null =>
  [...world.installations.values()].find((one) => one.repositoryIds.has(repository.id)) ?? null;

/** The repository's role for an account: owners are admins, strangers read what is public. */
export function roleOf(repository: Repository, login: string): Role {
  if (repository.owner.login.toLowerCase() === login.toLowerCase() && repository.owner.type === "User") return "admin";
  return repository.collaborators.get(login.toLowerCase()) ?? (repository.isPrivate ? "none" : "read");
}
