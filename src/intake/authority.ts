import { isCountersignError, type Permission } from "../domain/index.ts";
import type { AcceptDeps } from "./intake-deps.ts";
import type { Ask } from "./reading.ts";

/** Whether the sender may ask. `cause` is a code for the record: why GitHub's answer is none, or what it said. */
export type Authority =
  | { readonly kind: "granted"; readonly permission: Permission }
  | {
      readonly kind: "refused";
      readonly code: "permission_missing" | "permission_unknown";
      readonly cause: string;
    };

const retries = 2;
const firstPauseMs = 250;

/**
 * SEC-31, SEC-32: the collaborator permission API decides, for the user id that signed for it. No answer, a late one, an
 * unreadable one or one about somebody else is a refusal; `author_association` is not even read.
 */
export async function askAuthority(
  deps: Pick<AcceptDeps, "github" | "delay" | "times">,
  ask: Pick<Ask, "installationId" | "repository" | "sender">,
  signal: AbortSignal,
): Promise<Authority> {
  const place = { installationId: ask.installationId, repositoryId: ask.repository.id };
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(deps.times.permissionMs)]);
  for (let tries = 0; ; tries += 1) {
    try {
      const answer = await orAborted(deps.github.permission(place, ask.sender.login, inTime), inTime);
      return judge(answer, ask.sender.id);
    } catch (error) {
      const mayRetry = isCountersignError(error) && error.retryable && tries < retries;
      if (inTime.aborted || !mayRetry) return unknown(inTime.aborted ? "timeout" : causeOf(error));
    }
    await deps.delay(firstPauseMs * 2 ** tries, inTime).catch(() => undefined);
  }
}

const causeOf = (error: unknown): string => (isCountersignError(error) ? error.code : "bug");
const unknown = (cause: string): Authority => ({ kind: "refused", code: "permission_unknown", cause });

function judge(answer: { readonly permission: Permission; readonly userId: number }, senderId: number): Authority {
  if (answer.userId !== senderId) return { kind: "refused", code: "permission_missing", cause: "another_user" };
  const { permission } = answer;
  if (permission === "admin" || permission === "write") return { kind: "granted", permission };
  return { kind: "refused", code: "permission_missing", cause: permission };
}

/** A door that doesn't heed its signal must not hold a delivery. */
function orAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((done, fail) => {
    const abort = (): void => fail(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(done, fail).finally(() => signal.removeEventListener("abort", abort));
  });
}
