import type { Clock, Permission, RandomBytes } from "../domain/index.ts";
import type { Keys, Ledger } from "../ledger/index.ts";
import type { OperatorSettings, PolicyEngine } from "../policy/index.ts";
import type { Queue, Store } from "../store/index.ts";

/** Where on GitHub; everything by numeric id (SEC-113). */
export type Place = { readonly installationId: number; readonly repositoryId: number };

/** The questions that intake asks of GitHub. Each fails with a `CountersignError`. */
export type AskGithub = {
  /**
   * SEC-31: `permission` as the API calls it, the id of the user that the answer is about, and GitHub's name for the request that
   * told it, null where it gave none (AUD-5).
   */
  permission(
    place: Place,
    login: string,
    signal: AbortSignal,
  ): Promise<{ readonly permission: Permission; readonly userId: number; readonly requestId: string | null }>;
  /** Asked only about a delivery that comes late (GH-32). */
  issue(
    place: Place,
    number: number,
    signal: AbortSignal,
  ): Promise<{ readonly isOpen: boolean; readonly labels: readonly string[] }>;
  /** Asked only about a yes, which its writer may have taken back since; null where the comment is gone. */
  comment(place: Place, commentId: number, signal: AbortSignal): Promise<{ readonly body: string } | null>;
};

/** How long things may take, in milliseconds. */
export type IntakeTimes = {
  /** Until the headers of a request are there. */
  readonly headersMs: number;
  /** Until all of a request is there. */
  readonly requestMs: number;
  /** How often the two above are looked at. */
  readonly checkMs: number;
  /** SEC-32, GH-30: the permission look-up in all, tries and pauses included. */
  readonly permissionMs: number;
  /** Until an answer is given, whatever it is; GitHub waits for ten seconds (GH-30). */
  readonly answerMs: number;
  /** A trigger older than this was delivered late: the state is asked for anew. */
  readonly lateMs: number;
};

export const intakeTimes: IntakeTimes = {
  headersMs: 5_000,
  requestMs: 10_000,
  checkMs: 1_000,
  permissionMs: 6_000,
  answerMs: 9_000,
  lateMs: 120_000,
};

/** What a delivery is accepted with. */
export type AcceptDeps = {
  readonly store: Pick<Store, "db">;
  readonly ledger: Pick<Ledger, "append">;
  readonly keys: Keys;
  readonly queue: Pick<Queue, "enqueue">;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly operator: Pick<OperatorSettings, "webhook" | "allowedBots" | "permittedForks" | "caps" | "limits">;
  readonly github: AskGithub;
  /** Decides whether who answers a question may do so (AUD-37). */
  readonly policies: Pick<PolicyEngine, "authorize" | "schema">;
  readonly ownApp: { readonly id: number; readonly botUserId: number };
  readonly times: IntakeTimes;
};
