import type { Permission } from "../domain/index.ts";

/** Which repository, through which installation: the only address that is used, so that a rename is followed (GH-120). */
export type RepositoryPlace = { readonly installationId: number; readonly repositoryId: number };

/** As people write it; it may change (GH-120). */
export type RepositoryName = { readonly owner: string; readonly name: string };

/** What was read of a list. `isComplete` is false where a stated cap ended it (GH-25). */
export type Listed<Item> = { readonly items: readonly Item[]; readonly isComplete: boolean };

export type RepositoryFacts = {
  readonly id: number;
  readonly owner: string;
  readonly name: string;
  readonly fullName: string;
  readonly defaultBranch: string;
  readonly isArchived: boolean;
  readonly isDisabled: boolean;
  readonly isFork: boolean;
  readonly sizeKb: number;
};

export type CommitFacts = {
  readonly sha: string;
  readonly treeSha: string;
  readonly parents: readonly string[];
  readonly message: string;
  readonly isVerified: boolean;
  /** GitHub's word for it, such as `valid` or `unsigned`. */
  readonly verificationReason: string;
};

export type ComparisonFacts = {
  readonly status: "identical" | "ahead" | "behind" | "diverged";
  readonly aheadBy: number;
  readonly behindBy: number;
};

export type IssueFacts = {
  readonly id: number;
  readonly number: number;
  readonly isOpen: boolean;
  readonly isLocked: boolean;
  readonly isPullRequest: boolean;
  readonly labels: readonly string[];
  readonly title: string;
  readonly body: string;
  /** ISO 8601, as all times here. */
  readonly updatedAt: string;
};

/** `permission` is GitHub's own reduction of roles: maintain and custom roles with write are `write`, triage is `read`. */
export type PermissionFacts = {
  readonly permission: Permission;
  readonly userId: number;
  /** GitHub's name for the request that told it (AUD-5); null where it gave none. */
  readonly requestId: string | null;
};

export type PullRequestFacts = {
  readonly id: number;
  readonly number: number;
  readonly isOpen: boolean;
  readonly isMerged: boolean;
  readonly isDraft: boolean;
  readonly title: string;
  readonly body: string;
  /** Null: the account is gone. */
  readonly authorId: number | null;
  readonly headBranch: string;
  readonly headSha: string;
  /** Null: the source repository is gone (GH-65). */
  readonly headRepositoryId: number | null;
  readonly baseBranch: string;
  readonly baseSha: string;
  readonly url: string;
  /** Null in a list: GitHub counts files only where one pull request is asked for. */
  readonly changedFiles: number | null;
};

export type CommentFacts = {
  readonly id: number;
  readonly authorId: number | null;
  readonly authorLogin: string | null;
  readonly isBot: boolean;
  readonly body: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly url: string;
};

export type CheckRunFacts = {
  readonly id: number;
  readonly name: string;
  readonly appId: number | null;
  readonly externalId: string | null;
  readonly headSha: string;
  readonly status: string;
  readonly conclusion: string | null;
  readonly title: string | null;
  readonly summary: string | null;
  readonly url: string | null;
};

export type ReactionFacts = { readonly id: number; readonly content: string; readonly userId: number | null };

/** Our App as GitHub knows it. */
export type AppFacts = {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  readonly botUserId: number;
  readonly botLogin: string;
  readonly permissions: Readonly<Record<string, string>>;
  readonly events: readonly string[];
};

/** An installation: its permissions are those that its owner accepted, which may be fewer than the App's. */
export type InstallationFacts = {
  readonly id: number;
  readonly account: string;
  readonly isSuspended: boolean;
  readonly permissions: Readonly<Record<string, string>>;
};
