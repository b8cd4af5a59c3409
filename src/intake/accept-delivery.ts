import { assertNever, type DeliveryCode, type RunId } from "../domain/index.ts";
import { triggerLabel } from "./actor-rules.ts";
import { askAuthority } from "./authority.ts";
import type { AcceptDeps } from "./intake-deps.ts";
import { type Obstacle, obstacleInPayload, obstacleInStore } from "./obstacles.ts";
import { readEvent } from "./read-event.ts";
import type { Ask, Reading, SignedDelivery } from "./reading.ts";
import {
  knownAs,
  type Outcome,
  recordDelivery,
  recordKnown,
  recordOrKnown,
  type Settlement,
} from "./record-delivery.ts";
import { ObstacleMet, type RunStart, startRun } from "./start-run.ts";
import { type NothingFound, type Stop, stopRuns } from "./stop-runs.ts";
import { takeAnswer, type WrittenAnswer } from "./take-answer.ts";

/**
 * What a signed delivery leads to, durable when it returns: a queued run, a stop, an answer to be given, or an entry that
 * says why nothing. Delivered twice, also to two processes at once, it does nothing more (GH-31). Throws
 * `LEDGER_UNAVAILABLE` and what the keys and the queue throw; then nothing is kept.
 */
export async function acceptDelivery(
  deps: AcceptDeps,
  delivery: SignedDelivery,
  signal: AbortSignal,
): Promise<Outcome> {
  const rules = { ownApp: deps.ownApp, allowedBots: deps.operator.allowedBots };
  const reading = readEvent(rules, delivery);
  const known = await knownAs(deps, delivery, reading.kind === "ask" ? reading.businessKey : null);
  if (known !== null) return recordKnown(deps, delivery, reading, known);
  switch (reading.kind) {
    case "ignored":
      return await recordDelivery(deps, delivery, reading, ignored(reading.code));
    case "stop":
      return await acceptStop(deps, delivery, reading);
    case "ask":
      return await acceptAsk(deps, delivery, reading, signal);
    default:
      return assertNever(reading);
  }
}

const nothing = { runId: null, answer: null, detail: {}, businessKey: null } as const;
const ignored = (code: DeliveryCode): Settlement => ({ ...nothing, result: "ignored", code });

/** A stop that found nothing live keeps no business key: a later one of the same form is its own. */
function acceptStop(
  deps: AcceptDeps,
  delivery: SignedDelivery,
  reading: Extract<Reading, { kind: "stop" }>,
): Promise<Outcome> {
  return recordOrKnown(deps, delivery, reading, () =>
    stopRuns(deps, { ...reading, delivery, reading }, ({ code, ...found }) =>
      recordDelivery(deps, delivery, reading, { ...ignored(code), ...found }),
    ),
  );
}

async function acceptAsk(deps: AcceptDeps, delivery: SignedDelivery, ask: Ask, signal: AbortSignal): Promise<Outcome> {
  const authority = await askAuthority(deps, ask, signal);
  if (authority.kind === "refused") {
    return recordDelivery(deps, delivery, ask, {
      result: "refused",
      code: authority.code,
      runId: null,
      answer: "confused",
      detail: { cause: authority.cause },
      businessKey: ask.businessKey,
    });
  }
  const { wants } = ask;
  switch (wants.kind) {
    case "answer":
      return tell(deps, delivery, ask, { result: "answered", code: wants.code });
    case "refusal":
      return tell(deps, delivery, ask, { result: "refused", code: wants.code });
    case "stop":
      return acceptStopCommand(deps, delivery, ask);
    case "approval":
      return acceptAnswer(deps, delivery, { ask, wants, authority }, signal);
    case "run":
      return acceptRun(deps, { delivery, ask, verb: wants.verb, permission: authority.permission }, signal);
    default:
      return assertNever(wants);
  }
}

function acceptAnswer(
  deps: AcceptDeps,
  delivery: SignedDelivery,
  answer: WrittenAnswer,
  signal: AbortSignal,
): Promise<Outcome> {
  const { ask } = answer;
  return recordOrKnown(deps, delivery, ask, async () => {
    const taken = await takeAnswer(deps, delivery, answer, signal);
    if (taken.kind === "taken") return taken.outcome;
    return tell(deps, delivery, ask, { result: "refused", code: taken.code });
  });
}

type Said = { readonly result: "refused" | "answered"; readonly code: DeliveryCode; readonly runId?: RunId | null };

/** Records what a writer is told by a comment (GH-15). */
function tell(
  deps: AcceptDeps,
  delivery: SignedDelivery,
  ask: Ask,
  said: Said & Partial<Pick<NothingFound, "stop" | "confirm">>,
): Promise<Outcome> {
  const { businessKey, detail } = ask;
  return recordDelivery(deps, delivery, ask, { runId: null, ...said, answer: "comment", detail, businessKey });
}

function acceptStopCommand(deps: AcceptDeps, delivery: SignedDelivery, ask: Ask): Promise<Outcome> {
  const { businessKey, at, sender } = ask;
  const scope = { kind: "item", repositoryId: ask.repository.id, number: ask.item.number } as const;
  const stop: Stop = { delivery, reading: ask, businessKey, cause: "command", scope, at, sender };
  return recordOrKnown(deps, delivery, ask, () =>
    stopRuns(deps, stop, (found) => {
      const code = found.code === "already_stopping" ? "already_stopping" : "nothing_to_stop";
      return tell(deps, delivery, ask, { ...found, result: "answered", code });
    }),
  );
}

async function acceptRun(deps: AcceptDeps, start: RunStart, signal: AbortSignal): Promise<Outcome> {
  const { delivery, ask } = start;
  const obstacle =
    obstacleInPayload(deps, ask) ??
    (await obstacleSince(deps, ask, signal)) ??
    (await obstacleInStore(deps, deps.store.db, ask));
  if (obstacle !== null) return tell(deps, delivery, ask, { result: "refused", ...obstacle });
  try {
    return await recordOrKnown(deps, delivery, ask, () => startRun(deps, start));
  } catch (error) {
    if (!(error instanceof ObstacleMet)) throw error;
    return tell(deps, delivery, ask, { result: "refused", ...error.obstacle });
  }
}

/** GH-32: what was delivered late may have been taken back since. Asked only then. */
async function obstacleSince(deps: AcceptDeps, ask: Ask, signal: AbortSignal): Promise<Obstacle | null> {
  if (deps.clock() - Date.parse(ask.at ?? "") <= deps.times.lateMs) return null;
  const place = { installationId: ask.installationId, repositoryId: ask.repository.id };
  const issue = await deps.github.issue(place, ask.item.number, signal).catch(() => null);
  if (issue === null) return { code: "state_unknown", runId: null };
  if (!issue.isOpen) return { code: "item_closed", runId: null };
  const needsLabel = ask.commentId === null;
  return needsLabel && !issue.labels.includes(triggerLabel) ? { code: "label_gone", runId: null } : null;
}
