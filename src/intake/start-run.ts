import { createHash } from "node:crypto";
import {
  canonicalBytes,
  type NewEntry,
  newRunId,
  nonceSizeBytes,
  type Permission,
  plainEntry,
  type RunId,
  type Trigger,
  type TriggerVerb,
} from "../domain/index.ts";
import { sealCommitted } from "../ledger/index.ts";
import type { Transaction } from "../store/index.ts";
import type { AcceptDeps } from "./intake-deps.ts";
import { type Obstacle, obstacleInStore } from "./obstacles.ts";
import type { Ask, SignedDelivery } from "./reading.ts";
import { claimDelivery, type Outcome } from "./record-delivery.ts";

/** Something came in the way after it was looked for; the transaction is undone. */
export class ObstacleMet extends Error {
  readonly obstacle: Obstacle;

  constructor(obstacle: Obstacle) {
    super("a run can't be made now");
    this.obstacle = obstacle;
  }
}

/** A run that may be made. */
export type RunStart = {
  readonly delivery: SignedDelivery;
  readonly ask: Ask;
  readonly verb: TriggerVerb;
  readonly permission: Permission;
};

/**
 * Makes the queued run: its keys first, which are files, then in one transaction the entry with the sealed trigger, the
 * delivery's two keys, the row and the job. Where that fails nothing is kept but key files that no entry needs. Throws
 * `KnownDelivery` and `ObstacleMet`.
 */
export async function startRun(deps: AcceptDeps, start: RunStart): Promise<Outcome> {
  const runId = newRunId(deps);
  await deps.keys.createRun(runId);
  const trigger = triggerOf(start);
  const outcome = { result: "started", code: "done", runId } as const;
  await deps.ledger.append(null, queuedBatch(deps, runId, trigger), async (tx) => {
    const { delivery, ask } = start;
    const settlement = { ...outcome, answer: null, detail: ask.detail, businessKey: ask.businessKey };
    await claimDelivery(deps, tx, { delivery, reading: ask, settlement });
    const obstacle = await obstacleInStore(deps, tx, ask);
    if (obstacle !== null) throw new ObstacleMet(obstacle);
    await insertRun(deps, tx, runId, trigger);
    await deps.queue.enqueue(tx, "run", { runId }, { key: runId, isFirst: true });
  });
  return outcome;
}

function triggerOf({ delivery, ask, verb, permission }: RunStart): Trigger {
  const { repository, item, sender, commentId, request } = ask;
  const { title, body } = item;
  return {
    deliveryId: delivery.deliveryId,
    event: ask.event,
    verb,
    installationId: ask.installationId,
    repository: { id: repository.id, owner: repository.owner.login, name: repository.name },
    item: { kind: item.kind, id: item.id, number: item.number },
    byLabel: commentId === null,
    reactTo: commentId === null ? { kind: "issue", issue: item.number } : { kind: "issue_comment", comment: commentId },
    requester: { id: String(sender.id), login: sender.login, permission },
    at: new Date(ask.at ?? "").toISOString(),
    title,
    body,
    // Of another author nothing is known: only the sender's permission is asked for.
    author: { id: item.authorId ?? 0, canWrite: item.authorId === sender.id },
    request,
    textDigest: createHash("sha256").update(canonicalBytes({ title, body, request })).digest("hex"),
  };
}

function queuedBatch(deps: AcceptDeps, runId: RunId, trigger: Trigger) {
  const reference = Buffer.from(deps.randomBytes(16)).toString("hex");
  const texts = {
    trigger: JSON.stringify(trigger),
    issue_title: trigger.title,
    issue_body: trigger.body,
    requester: JSON.stringify({ reference, ...trigger.requester }),
  };
  const encoder = new TextEncoder();
  const encoded = Object.fromEntries(Object.entries(texts).map(([field, text]) => [field, encoder.encode(text)]));
  const nonce = { bytes: deps.randomBytes(nonceSizeBytes), isNew: true };
  const { sealed, commitments } = sealCommitted(null, nonce, encoded);
  const entry: NewEntry = {
    ...plainEntry,
    type: "run",
    runId,
    traceId: deps.keys.traceId(runId),
    deliveryId: trigger.deliveryId,
    actor: { kind: "person", reference },
    evidence: {
      status: "queued",
      event: trigger.event,
      verb: trigger.verb,
      repositoryId: String(trigger.repository.id),
      itemKind: trigger.item.kind,
      item: trigger.item.number,
      requesterPermission: trigger.requester.permission,
      triggeredAt: trigger.at,
      commitments,
    },
  };
  return { entries: [entry], sealed };
}

async function insertRun(deps: AcceptDeps, tx: Transaction, runId: RunId, trigger: Trigger): Promise<void> {
  const { turns, minutes, inputTokens, outputTokens } = deps.operator.limits;
  await tx
    .insertInto("runs")
    .values({
      run_id: runId,
      trace_id: deps.keys.traceId(runId),
      repository_id: String(trigger.repository.id),
      repository_name: `${trigger.repository.owner}/${trigger.repository.name}`,
      requester_id: trigger.requester.id,
      requester_login: trigger.requester.login,
      requester_permission: trigger.requester.permission,
      issue_number: trigger.item.number,
      base_sha: "",
      status: "queued",
      conclusion: null,
      stop_reason: null,
      lease_owner: null,
      lease_expires_at: null,
      started_at: new Date(deps.clock()).toISOString(),
      completed_at: null,
      limits: JSON.stringify({ turns, minutes, inputTokens, outputTokens }),
      installation_id: trigger.installationId,
      item_kind: trigger.item.kind,
      trigger_verb: trigger.verb,
      delivery_id: trigger.deliveryId,
      triggered_at: trigger.at,
    })
    .execute();
}
