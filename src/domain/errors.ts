import type { JsonObject } from "./json.ts";

/**
 * Operational failures: what may go wrong outside the code. `docs/errors.md` lists the same codes, and a test compares them.
 * `retryable` says that the same call may succeed later without a change by a person.
 */
export const errorCatalogue = {
  ABORTED: { retryable: false, remedy: "start the run again when you are ready" },
  ALREADY_REGISTERED: {
    retryable: false,
    remedy: "use the App that is registered, or move its credentials away first and delete the App on GitHub",
  },
  APPROVAL_NOT_OPEN: { retryable: false, remedy: "list what is waiting with `countersign runs show <run>`" },
  BUBBLEWRAP_MISSING: {
    retryable: false,
    remedy: "install bubblewrap 0.8.0 or newer (Debian, Ubuntu: `apt-get install bubblewrap`)",
  },
  CONFIG_INVALID: { retryable: false, remedy: "correct the value and start again" },
  DATABASE_UNREACHABLE: {
    retryable: true,
    remedy: "check `DATABASE_URL` and that the server answers, or unset it to use the embedded database",
  },
  DEMO_FAILED: { retryable: true, remedy: "run `countersign doctor --sandbox` and try the demo again" },
  DISK_FULL: { retryable: true, remedy: "free space on the disk of `COUNTERSIGN_HOME` and start again" },
  EMBEDDED_DATABASE_FAILED: {
    retryable: true,
    remedy: "read the server log that the message names, or set `DATABASE_URL` to a server of yours",
  },
  GITHUB_ANSWER_UNREADABLE: {
    retryable: true,
    remedy: "check that the address of the API is GitHub's own or GitHub Enterprise Server 3.14 or newer",
  },
  GITHUB_ARCHIVED: { retryable: false, remedy: "unarchive the repository, or leave it alone" },
  GITHUB_BRANCH_TAKEN: { retryable: false, remedy: "start the run again: it takes a branch name of its own" },
  GITHUB_CONTENT_DIFFERS: {
    retryable: false,
    remedy: "report the run id: what GitHub stored is not what was sent, so nothing was published",
  },
  GITHUB_EMPTY: { retryable: false, remedy: "push a first commit to the repository" },
  GITHUB_FORBIDDEN: {
    retryable: false,
    remedy: "give the App's installation the permissions that `app.yml` lists: an owner accepts them in its settings",
  },
  GITHUB_GONE: { retryable: false, remedy: "nothing: it was deleted, moved or blocked on GitHub" },
  GITHUB_INVALID: {
    retryable: false,
    remedy: "report the run id and the request id: GitHub refused the request as malformed",
  },
  GITHUB_LIMITED: { retryable: true, remedy: "wait until GitHub's limit is over" },
  GITHUB_LOCKED: {
    retryable: false,
    remedy: "unlock the conversation, or read the result with `countersign runs show <run>`",
  },
  GITHUB_NOT_FOUND: {
    retryable: false,
    remedy: "check that the App is installed on the repository and that it still exists",
  },
  GITHUB_NOT_OURS: { retryable: false, remedy: "nothing: what others wrote is left as it is" },
  GITHUB_RULE: {
    retryable: false,
    remedy:
      "ask an admin to let the App write branches `countersign/**`; the patch is kept: `countersign runs patch <run>`",
  },
  GITHUB_SUSPENDED: { retryable: false, remedy: "unsuspend the App's installation on GitHub" },
  GITHUB_UNAUTHORIZED: {
    retryable: false,
    remedy: "check `APP_ID` and `PRIVATE_KEY`, that the App is still installed, and the clock of this machine",
  },
  GITHUB_UNAVAILABLE: { retryable: true, remedy: "check that GitHub answers, then start the run again" },
  GIT_FAILED: { retryable: false, remedy: "check that the repository is intact with `git fsck` and try again" },
  GIT_MISSING: { retryable: false, remedy: "install git (Debian, Ubuntu: `apt-get install git`)" },
  ISSUE_EMPTY: { retryable: false, remedy: "write into the file what is wrong and what is wanted" },
  ISSUE_UNREADABLE: { retryable: false, remedy: "name a readable Markdown file of at most 256 KiB" },
  ISSUE_UNSAFE: {
    retryable: false,
    remedy: "write it anew without layers of HTML entities and deeply nested quotes or lists, then ask again",
  },
  KEYS_UNUSABLE: { retryable: false, remedy: "restore the key files under `COUNTERSIGN_HOME/keys` from your backup" },
  KILL_SWITCH_UNREADABLE: {
    retryable: true,
    remedy: "check that the database answers; `countersign resume` writes the row of the kill switch anew",
  },
  LEDGER_BROKEN: { retryable: false, remedy: "stop, keep the database as it is, and run `countersign audit verify`" },
  LEDGER_CONFLICT: { retryable: false, remedy: "another worker has taken this run over; let it go on" },
  LEDGER_ENTRY_TOO_LARGE: {
    retryable: false,
    remedy: "report the run id and the size: what an entry holds is bounded by design",
  },
  LEDGER_UNAVAILABLE: {
    retryable: true,
    remedy: "check that the database answers, then run `countersign doctor`",
  },
  LOCK_HELD: { retryable: true, remedy: "wait until the process that the message names has ended" },
  MODEL_NOT_FOUND: {
    retryable: false,
    remedy: "set OPENAI_MODEL to a model that the server lists, and OPENAI_BASE_URL to its base address",
  },
  MODEL_REJECTED: { retryable: false, remedy: "check OPENAI_MODEL and what the server says about the request" },
  MODEL_SILENT: { retryable: true, remedy: "check the load of the model server, then start the run again" },
  MODEL_UNAUTHORIZED: { retryable: false, remedy: "set OPENAI_API_KEY to a key that the model server accepts" },
  MODEL_UNAVAILABLE: { retryable: true, remedy: "check that the server at OPENAI_BASE_URL is up and reachable" },
  NOT_A_REPOSITORY: { retryable: false, remedy: "name the folder of a git repository that has at least one commit" },
  NOT_FOUND: { retryable: false, remedy: "list what there is with `countersign runs list`" },
  PAUSED: { retryable: true, remedy: "ask again once the operator has ended it with `countersign resume`" },
  POLICY_INVALID: { retryable: false, remedy: "correct the policy file at the place that the message names" },
  REGISTRATION_FAILED: {
    retryable: true,
    remedy: "open the address of the form once more: what GitHub hands over is good once, and for an hour",
  },
  RUNG_MISSING: {
    retryable: false,
    remedy: "delegate control groups to the service, or lower `sandbox.rung` in `operator.json`",
  },
  RUN_UID_UNUSABLE: {
    retryable: false,
    remedy: "set COUNTERSIGN_RUN_UIDS to a user id or range that owns nothing, for example `64200-64299`",
  },
  SANDBOX_FAILED: { retryable: false, remedy: "run `countersign doctor --sandbox` and mend what it names" },
  SETTINGS_INVALID: { retryable: false, remedy: "correct `.github/countersign.yml` and commit it" },
  SETUP_FAILED: {
    retryable: false,
    remedy: "run the setup command on a fresh clone; hosts that it needs go into `setup.hosts` of `operator.json`",
  },
  STORE_PATH_UNREACHABLE: {
    retryable: false,
    remedy: "set COUNTERSIGN_HOME to a folder below which every parent can be entered by that user",
  },
  TIME_LIMIT: { retryable: false, remedy: "raise `limits.minutes` in the settings, or split the issue" },
  TREE_TOO_LARGE: { retryable: false, remedy: "raise the limit in `operator.json` or work on a smaller repository" },
  USAGE: { retryable: false, remedy: "see `countersign <command> --help`" },
  WORKSPACE_POISONED: { retryable: false, remedy: "start a new run; nothing of this workspace was read back" },
  WORKSPACE_REFUSED: { retryable: false, remedy: "see the causes listed; start a new run without those entries" },
} as const satisfies Record<string, { retryable: boolean; remedy: string }>;

export type ErrorCode = keyof typeof errorCatalogue;

/** The one class of operational failures. `details` are safe to log and to put into the ledger. */
export class CountersignError extends Error {
  readonly code: ErrorCode;
  readonly remedy: string;
  readonly retryable: boolean;
  readonly details: JsonObject;

  /** `message` is one lower-case sentence with the reader's input in backticks. `remedy` overrides the catalogue's. */
  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: JsonObject; remedy?: string } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "CountersignError";
    this.code = code;
    this.remedy = options.remedy ?? errorCatalogue[code].remedy;
    this.retryable = errorCatalogue[code].retryable;
    this.details = options.details ?? {};
  }
}

/** Whether a value is an operational failure, of one code where one is named. */
export function isCountersignError(value: unknown, code?: ErrorCode): value is CountersignError {
  return value instanceof CountersignError && (code === undefined || value.code === code);
}
