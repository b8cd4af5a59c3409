import { isCountersignError, type Permission } from "../domain/index.ts";
import type { AcceptDeps } from "./intake-deps.ts";
import type { Ask } from "./reading.ts";

/** Whether the sender may ask. `cause` is a code for the record: why GitHub's answer is none, or what it said. */
export type Authority =
  | { readonly kind: "granted"; readonly permission: Permission; readonly requestId: string | null }
  | {
      readonly kind: "refused";
      readonly code: "permission_missing" | "permission_unknown";
      readonly cause: string;
    };

/**
 * SEC-31, SEC-32: the collaborator permission API decides, for the user id that signed for it. No answer, a late one, an
 * unreadable one or one about somebody else is a refusal; `author_association` is not even read. Asked once here: the door
 * to GitHub repeats a read twice at most, and more is not allowed.
 */
export async function askAuthority(
  deps: Pick<AcceptDeps, "github" | "times">,
  ask: Pick<Ask, "installationId" | "repository" | "sender">,
  signal: AbortSignal,
): Promise<Authority> {
  const place = { installationId: ask.installationId, repositoryId: ask.repository.id };
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(deps.times.permissionMs)]);
  try {
    const answer = await orAborted(deps.github.permission(place, ask.sender.login, inTime), inTime);
    return judge(answer, ask.sender.id);
  } catch (error) {
    return unknown(inTime.aborted ? "timeout" : causeOf(error));
  }
}

const causeOf = (error: unknown): string => (isCountersignError(error) ? error.code : "bug");
const unknown = (cause: string): Authority => ({ kind: "refused", code: "permission_unknown", cause });

function judge(answer: Awaited<ReturnType<AcceptDeps["github"]["permission"]>>, senderId: number): Authority {
  if (answer.userId !== senderId) return { kind: "refused", code: "permission_missing", cause: "another_user" };
  const { permission, requestId } = answer;
  if (permission === "admin" || permission === "maintain" || permission === "write")
    return { kind: "granted", permission, requestId };
  return { kind: "refused", code: "permission_missing", cause: permission };
}

/** A door that doesn't heed its signal must not hold a delivery. */
export function orAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((done, fail) => {
    const abort = (): void => fail(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(done, fail).finally(() => signal.removeEventListener("abort", abort));
  });
}
