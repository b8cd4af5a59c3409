/**
 * GitHub as we speak to it: the only Octokit calls of the product, reads apart from writes, and the texts that go out.
 * Door: `openGithub`, whose reader and writer stand for one repository; `githubWrites`, the table of what each write is
 * found again by; `convertManifest`; `inert`, `inertLine`, `inactive`, `fenced`, `cutText` and the
 * markers.
 * Never: repeats a write, follows an address out of an answer to another host, writes a token anywhere but into a header,
 * decides whether something may be done, or takes a name or a path out of an error.
 */
export { type AppDeliveries, type AppDelivery, openAppDeliveries } from "./app-deliveries.ts";
export { checkPermissions, neededPermissions, type PermissionFinding } from "./app-permissions.ts";
export { type AppWebhook, readAppWebhook } from "./app-webhook.ts";
export type {
  AppFacts,
  CheckRunFacts,
  CommentFacts,
  CommitFacts,
  ComparisonFacts,
  InstallationFacts,
  IssueFacts,
  Listed,
  PermissionFacts,
  PullRequestFacts,
  ReactionFacts,
  RepositoryFacts,
  RepositoryName,
  RepositoryPlace,
} from "./facts.ts";
export type { Github, GithubDeps, GithubReader, GithubSettings, GithubWriter, RequestLine } from "./github.ts";
export { type Marker, type MarkersRead, markerOf, readMarker } from "./markers.ts";
export { openGithub } from "./open-github.ts";
export { convertManifest, type RegisteredApp } from "./register-app.ts";
export { readRepositoryAddress } from "./repository-name.ts";
export { cutText, fenced, inactive, inactiveLines, inert, inertLine, textLimitBytes } from "./text.ts";
export { githubWrites } from "./write-table.ts";
export type {
  AddLabel,
  AddReaction,
  CreateComment,
  DeleteBranch,
  Found,
  GithubTool,
  GithubWrite,
  OpenPullRequest,
  PushCommit,
  RemoveLabel,
  SetCheckRun,
  UpdateComment,
  UpdatePullRequest,
  WriteOf,
  WriteOutcome,
} from "./writes.ts";
