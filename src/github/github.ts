import type { Clock, ReactionTarget, Redactor, Secret } from "../domain/index.ts";
import type {
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
import type { Found, GithubWrite, WriteOutcome } from "./writes.ts";

/** One request that was answered or failed; safe to log. `status` null: no answer. */
export type RequestLine = {
  readonly method: string;
  /** The address with the placeholders in it, such as `/repositories/{repository_id}/git/blobs`. */
  readonly route: string;
  readonly status: number | null;
  readonly requestId: string | null;
  readonly durationMs: number;
};

export type GithubDeps = {
  readonly clock: Clock;
  /** Waits, or throws the signal's reason. */
  readonly delay: (waitMs: number, signal: AbortSignal) => Promise<void>;
  /** Aborted after so many milliseconds; `AbortSignal.timeout` by default. */
  readonly timeoutSignal?: (timeoutMs: number) => AbortSignal;
  /** Learns each token as it is minted, and goes over every text that is written to GitHub (SEC-100). */
  readonly redactor: Pick<Redactor, "redact" | "learn">;
  readonly onRequest?: (line: RequestLine) => void;
  /** A limit of GitHub's makes us wait until then, milliseconds since 1970 (GH-111). */
  readonly onWaiting?: (until: number) => void;
};

export type GithubSettings = {
  readonly appId: number;
  readonly privateKey: Secret;
  /** Base of the REST API without a slash at the end, such as `https://api.github.com`. */
  readonly apiUrl: string;
  /** Base of git addresses without a slash at the end, such as `https://github.com`. */
  readonly gitUrl: string;
  /** Key of the markers' MAC: at least 32 bytes. */
  readonly markerKey: Uint8Array;
  /** Of each request. 30,000 by default. */
  readonly requestTimeoutMs?: number;
  /** Least time between two content-making requests of an installation. 1,000 by default; 0 lifts the pace of a minute and an hour too. */
  readonly writeIntervalMs?: number;
  /** Least time between the two reads that "not applied" needs (AUD-65). 5,000 by default. */
  readonly lookIntervalMs?: number;
};

/** Reads of one repository. Each may be repeated by itself: on 5xx, resets and timeouts twice, and after the wait of a limit. */
export type GithubReader = {
  /** GITHUB_NOT_FOUND: gone, or not ours to see. */
  repository(signal: AbortSignal): Promise<RepositoryFacts>;
  /** The head of a branch; null: there is no such branch. GITHUB_EMPTY: the repository has no commit. */
  branch(name: string, signal: AbortSignal): Promise<{ readonly sha: string } | null>;
  commit(sha: string, signal: AbortSignal): Promise<CommitFacts>;
  /** How `head` stands to `base`. */
  compare(base: string, head: string, signal: AbortSignal): Promise<ComparisonFacts>;
  /** GITHUB_GONE: deleted or transferred. */
  issue(number: number, signal: AbortSignal): Promise<IssueFacts>;
  permission(login: string, signal: AbortSignal): Promise<PermissionFacts>;
  pullRequest(number: number, signal: AbortSignal): Promise<PullRequestFacts>;
  /** Of any state, with this branch of the same repository as head. */
  pullRequestsByHead(branch: string, signal: AbortSignal): Promise<Listed<PullRequestFacts>>;
  /** Of an issue or pull request, oldest first; `sinceIso` limits to those edited since. */
  comments(number: number, sinceIso: string | null, signal: AbortSignal): Promise<Listed<CommentFacts>>;
  /** Of an issue or the conversation of a pull request; null where there is none. */
  comment(id: number, signal: AbortSignal): Promise<CommentFacts | null>;
  checkRuns(sha: string, signal: AbortSignal): Promise<Listed<CheckRunFacts>>;
  reactions(target: ReactionTarget, signal: AbortSignal): Promise<Listed<ReactionFacts>>;
};

/** The only hand that changes anything on GitHub, held by the gateway alone. */
export type GithubWriter = {
  /** Sends once; never throws for what GitHub answered. An abort before the sending is `not_applied`, one in it is `unknown`. */
  write(write: GithubWrite, signal: AbortSignal): Promise<WriteOutcome>;
  /** One round of the recipe of AUD-61. `sinceIso` is the time of the intent. */
  look(write: GithubWrite, sinceIso: string, signal: AbortSignal): Promise<Found>;
};

/** All calls throw CountersignError with a GITHUB_ code, or the reason of the signal. Tokens are held in memory only. */
export type Github = {
  /** Of its pages, with a port if there is one, such as `github.com`. */
  readonly host: string;
  /** Asked for once a process. */
  app(signal: AbortSignal): Promise<AppFacts>;
  installation(installationId: number, signal: AbortSignal): Promise<InstallationFacts>;
  /** A repository by the name that a person typed. GITHUB_NOT_FOUND: the App is not installed there. */
  locate(
    repository: RepositoryName,
    signal: AbortSignal,
  ): Promise<{ readonly place: RepositoryPlace; readonly installation: InstallationFacts }>;
  reader(place: RepositoryPlace): GithubReader;
  writer(place: RepositoryPlace): GithubWriter;
  /** For the fetch of the base: the address without a credential, and the value for git's `http.extraHeader` (SEC-77),
   * `Authorization: basic …`, whose token reads the contents of this one repository. */
  gitAccess(
    place: RepositoryPlace,
    repository: RepositoryName,
    signal: AbortSignal,
  ): Promise<{ readonly url: string; readonly authorization: Secret }>;
};
