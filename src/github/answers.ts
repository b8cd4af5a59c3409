import { z } from "zod";
import type {
  CheckRunFacts,
  CommentFacts,
  CommitFacts,
  IssueFacts,
  PullRequestFacts,
  ReactionFacts,
  RepositoryFacts,
} from "./facts.ts";

/** Needed fields only, each nullable where GitHub's reference says so (GH-24). */
const id = z.number().int().positive();
const Sha = z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/);
const text = z
  .string()
  .nullish()
  .transform((value) => value ?? "");
const User = z.object({ id, login: z.string(), type: z.string().optional() }).nullish();

export const Repository = z
  .object({
    id,
    name: z.string().min(1),
    full_name: z.string().min(1),
    owner: z.object({ login: z.string().min(1) }),
    default_branch: z.string().min(1),
    archived: z.boolean(),
    disabled: z.boolean().default(false),
    fork: z.boolean(),
    size: z.number().nonnegative(),
  })
  .transform(
    (read): RepositoryFacts => ({
      id: read.id,
      owner: read.owner.login,
      name: read.name,
      fullName: read.full_name,
      defaultBranch: read.default_branch,
      isArchived: read.archived,
      isDisabled: read.disabled,
      isFork: read.fork,
      sizeKb: read.size,
    }),
  );

export const Ref = z.object({ ref: z.string(), object: z.object({ sha: Sha }) });

export const Commit = z
  .object({
    sha: Sha,
    tree: z.object({ sha: Sha }),
    parents: z.array(z.object({ sha: Sha })),
    message: z.string(),
    verification: z.object({ verified: z.boolean(), reason: z.string() }).optional(),
  })
  .transform(
    (read): CommitFacts => ({
      sha: read.sha,
      treeSha: read.tree.sha,
      parents: read.parents.map((parent) => parent.sha),
      message: read.message,
      isVerified: read.verification?.verified ?? false,
      verificationReason: read.verification?.reason ?? "not told",
    }),
  );

export const Comparison = z
  .object({
    status: z.enum(["identical", "ahead", "behind", "diverged"]),
    ahead_by: z.number().int().nonnegative(),
    behind_by: z.number().int().nonnegative(),
  })
  .transform((read) => ({ status: read.status, aheadBy: read.ahead_by, behindBy: read.behind_by }));

export const Labels = z
  .array(z.union([z.string(), z.object({ name: z.string().nullish() })]))
  .transform((labels) =>
    labels.map((label) => (typeof label === "string" ? label : (label.name ?? ""))).filter((name) => name !== ""),
  );

export const Issue = z
  .object({
    id,
    number: id,
    state: z.string(),
    locked: z.boolean().default(false),
    pull_request: z.unknown().optional(),
    labels: Labels,
    title: z.string(),
    body: text,
    updated_at: z.string(),
  })
  .transform(
    (read): IssueFacts => ({
      id: read.id,
      number: read.number,
      isOpen: read.state === "open",
      isLocked: read.locked,
      isPullRequest: read.pull_request !== undefined && read.pull_request !== null,
      labels: read.labels,
      title: read.title,
      body: read.body,
      updatedAt: read.updated_at,
    }),
  );

export const PermissionAnswer = z
  .object({ permission: z.enum(["admin", "maintain", "write", "read", "none"]), user: z.object({ id }) })
  .transform((read) => ({ permission: read.permission, userId: read.user.id }));

export const PullRequest = z
  .object({
    id,
    number: id,
    node_id: z.string().optional(),
    state: z.string(),
    merged_at: z.string().nullish(),
    draft: z.boolean().default(false),
    title: z.string(),
    body: text,
    user: User,
    head: z.object({ ref: z.string(), sha: Sha, repo: z.object({ id }).nullish() }),
    base: z.object({ ref: z.string(), sha: Sha }),
    html_url: z.string(),
    changed_files: z.number().int().nonnegative().optional(),
  })
  .transform((read): PullRequestFacts & { readonly nodeId: string | null } => ({
    id: read.id,
    number: read.number,
    nodeId: read.node_id ?? null,
    isOpen: read.state === "open",
    isMerged: typeof read.merged_at === "string",
    isDraft: read.draft,
    title: read.title,
    body: read.body,
    authorId: read.user?.id ?? null,
    headBranch: read.head.ref,
    headSha: read.head.sha,
    headRepositoryId: read.head.repo?.id ?? null,
    baseBranch: read.base.ref,
    baseSha: read.base.sha,
    url: read.html_url,
    changedFiles: read.changed_files ?? null,
  }));

export const Comment = z
  .object({ id, user: User, body: text, created_at: z.string(), updated_at: z.string(), html_url: z.string() })
  .transform(
    (read): CommentFacts => ({
      id: read.id,
      authorId: read.user?.id ?? null,
      authorLogin: read.user?.login ?? null,
      isBot: read.user?.type === "Bot",
      body: read.body,
      createdAt: read.created_at,
      updatedAt: read.updated_at,
      url: read.html_url,
    }),
  );

export const CheckRun = z
  .object({
    id,
    name: z.string(),
    app: z.object({ id }).nullish(),
    external_id: z.string().nullish(),
    head_sha: Sha,
    status: z.string(),
    conclusion: z.string().nullish(),
    output: z.object({ title: z.string().nullish(), summary: z.string().nullish() }).nullish(),
    html_url: z.string().nullish(),
  })
  .transform(
    (read): CheckRunFacts => ({
      id: read.id,
      name: read.name,
      appId: read.app?.id ?? null,
      externalId: read.external_id ?? null,
      headSha: read.head_sha,
      status: read.status,
      conclusion: read.conclusion ?? null,
      title: read.output?.title ?? null,
      summary: read.output?.summary ?? null,
      url: read.html_url ?? null,
    }),
  );

export const Reaction = z
  .object({ id, content: z.string(), user: User })
  .transform((read): ReactionFacts => ({ id: read.id, content: read.content, userId: read.user?.id ?? null }));

export const Tree = z.object({
  sha: Sha,
  truncated: z.boolean().default(false),
  tree: z.array(z.object({ path: z.string(), mode: z.string(), type: z.string(), sha: Sha })),
});

export const Blob = z.object({ sha: Sha });
/** For answers that say nothing. */
export const Nothing = z.unknown();

const Granted = z.record(z.string(), z.string());
export const App = z.object({
  id,
  slug: z.string().min(1),
  name: z.string(),
  permissions: Granted,
  events: z.array(z.string()),
});
export const AppUser = z.object({ id, login: z.string().min(1) });
export const Installation = z.object({
  id,
  account: z.object({ login: z.string().optional(), slug: z.string().optional() }).nullish(),
  suspended_at: z.string().nullish(),
  permissions: Granted,
});
export const Installations = z.array(z.object({ id, suspended_at: z.string().nullish() }));
