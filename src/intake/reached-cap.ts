import type { DeliveryCode } from "../domain/index.ts";
import type { AcceptDeps } from "./intake-deps.ts";
import type { Made, StoredFacts } from "./stored-facts.ts";

type CapDeps = Pick<AcceptDeps, "operator" | "clock">;

const minuteMs = 60_000;

/**
 * The first of the operator's caps (SEC-35, `caps` in `operator.json`) that one more run would pass, by the name that its
 * refusal has; null where none.
 */
export function reachedCap(deps: CapDeps, facts: StoredFacts): DeliveryCode | null {
  return reachedCount(deps, facts) ?? spentDay(deps, facts) ?? repeatedFailures(deps, facts);
}

function reachedCount({ operator }: CapDeps, { ofIssue, ofRepository, ofSender }: StoredFacts): DeliveryCode | null {
  const { runsPerIssue, runsPerRepository, runsPerSender } = operator.caps;
  const caps: readonly (readonly ["issue" | "repository" | "sender", Made, Made])[] = [
    ["issue", ofIssue, runsPerIssue],
    ["repository", ofRepository, runsPerRepository],
    ["sender", ofSender, runsPerSender],
  ];
  for (const [of, made, most] of caps) {
    if (made.hour >= most.hour) return `cap_${of}_hour`;
    if (made.day >= most.day) return `cap_${of}_day`;
  }
  return null;
}

/** Spend of the last day, with all that this run may use. */
function spentDay({ operator }: CapDeps, { spentTokens }: StoredFacts): DeliveryCode | null {
  const { inputTokens, outputTokens } = operator.limits;
  return spentTokens + inputTokens + outputTokens > operator.caps.tokensPerDay ? "cap_tokens_day" : null;
}

/** The circuit breaker: opens once so many runs in a row have failed, and lets one through when its time has gone by. */
function repeatedFailures({ operator, clock }: CapDeps, { lastEnds }: StoredFacts): DeliveryCode | null {
  const { inARow, minutes } = operator.caps.failuresPerRepository;
  const haveFailed = lastEnds.count === inARow && lastEnds.haveAllFailed;
  const isRecent = Date.parse(lastEnds.newestAt ?? "") > clock() - minutes * minuteMs;
  return haveFailed && isRecent ? "repeated_failures" : null;
}
