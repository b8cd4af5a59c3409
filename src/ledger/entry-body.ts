import { type Actor, CountersignError, canonicalBytes, type LedgerEntry } from "../domain/index.ts";

/** AUD-41. */
const entrySizeLimitBytes = 16 * 1024;

/**
 * The bytes that are stored and hashed: canonical JSON of the entry's known keys (AUD-41). Throws
 * `LEDGER_ENTRY_TOO_LARGE`; an entry that is no plain JSON is a bug.
 */
export function entryBody(entry: LedgerEntry): Uint8Array {
  // Written out: a key that a caller added by mistake must not get into what is kept for ever.
  const body = canonicalBytes({
    version: entry.version,
    type: entry.type,
    id: entry.id,
    origin: entry.origin,
    index: entry.index,
    runId: entry.runId,
    runSeq: entry.runSeq,
    fencingToken: entry.fencingToken,
    actionId: entry.actionId,
    state: entry.state,
    attempt: entry.attempt,
    try: entry.try,
    decisionId: entry.decisionId,
    deliveryId: entry.deliveryId,
    traceId: entry.traceId,
    parentId: entry.parentId,
    time: entry.time,
    actor: actorJson(entry.actor),
    evidence: entry.evidence,
  });
  if (body.byteLength <= entrySizeLimitBytes) return body;
  throw new CountersignError("LEDGER_ENTRY_TOO_LARGE", `an entry of \`${body.byteLength}\` bytes is over the limit`, {
    details: { sizeBytes: body.byteLength, limitBytes: entrySizeLimitBytes, type: entry.type, state: entry.state },
  });
}

function actorJson(actor: Actor): { [key: string]: string } {
  switch (actor.kind) {
    case "run":
      return { kind: actor.kind, runId: actor.runId };
    case "person":
      return { kind: actor.kind, reference: actor.reference };
    case "system":
      return { kind: actor.kind };
  }
}
