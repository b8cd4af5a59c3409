import { sql } from "kysely";
import type { Store, Transaction } from "../../store/index.ts";
import type { OutgoingSpan } from "./otlp.ts";
import type { TraceSpan } from "./span.ts";

/** A row that this sender has and no other, until its transaction ends. */
export type ClaimedSpan = { readonly id: number; readonly refusals: number; readonly outgoing: OutgoingSpan };

/** What goes onto every span's resource besides what the ledger tells of the run. */
export type ResourceSource = {
  readonly resource: Readonly<Record<string, string>>;
  /** `COUNTERSIGN_PUBLIC_URL`; null: no address of a page stands in a span. */
  readonly publicUrl: string | null;
};

/** After so many refusals of a span by itself it is given up (AUD-69). */
export const mostRefusals = 5;

/** Pending spans whose time has come, the never refused first, each locked: another sender passes over them. */
export async function claimSpans(
  tx: Transaction,
  source: ResourceSource,
  nowMs: number,
  limit: number,
): Promise<readonly ClaimedSpan[]> {
  const rows = await tx
    .selectFrom("span_outbox")
    .leftJoin("runs", "runs.run_id", "span_outbox.run_id")
    .select([
      "span_outbox.id",
      "span_outbox.refusals",
      "span_outbox.span",
      "runs.repository_id",
      "runs.repository_name",
    ])
    .where("span_outbox.state", "=", "pending")
    .where((where) =>
      where.or([where("not_before", "is", null), where("not_before", "<=", new Date(nowMs).toISOString())]),
    )
    .orderBy("span_outbox.refusals")
    .orderBy("span_outbox.id")
    .limit(limit)
    .forUpdate("span_outbox")
    .skipLocked()
    .execute();
  return rows.map(({ id, refusals, span, ...run }) => {
    const stored = span as unknown as TraceSpan;
    return { id, refusals, outgoing: { span: stored, resource: wholeResource(source, stored, run) } };
  });
}

/** Of GitHub's repositories the name is known; a local one's folder stays with its owner. */
function wholeResource(
  { resource, publicUrl }: ResourceSource,
  span: TraceSpan,
  run: { readonly repository_id: string | null; readonly repository_name: string | null },
): Readonly<Record<string, string>> {
  const [owner, name] = run.repository_name?.split("/") ?? [];
  const isOnGithub = run.repository_id !== null && /^\d+$/.test(run.repository_id);
  return {
    ...resource,
    ...(span.resource as Readonly<Record<string, string>>),
    ...(isOnGithub ? { "vcs.provider.name": "github" } : {}),
    ...(isOnGithub && owner !== undefined && name !== undefined
      ? { "vcs.owner.name": owner, "vcs.repository.name": name }
      : {}),
    ...(publicUrl === null
      ? {}
      : { "cicd.pipeline.run.url.full": `${publicUrl.replace(/\/$/, "")}/runs/${span.runId}` }),
  };
}

export async function markSent(tx: Transaction, ids: readonly number[], nowMs: number): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .updateTable("span_outbox")
    .set({ state: "sent", sent_at: new Date(nowMs).toISOString() })
    .where("id", "in", ids)
    .execute();
}

/** One refusal more; the next try comes after a pause, the last refusal gives the span up. */
export async function markRefused(
  tx: Transaction,
  { id, refusals }: ClaimedSpan,
  notBeforeMs: number,
): Promise<"pending" | "rejected"> {
  const state = refusals + 1 >= mostRefusals ? "rejected" : "pending";
  await tx
    .updateTable("span_outbox")
    .set({ refusals: refusals + 1, state, not_before: new Date(notBeforeMs).toISOString() })
    .where("id", "=", id)
    .execute();
  return state;
}

export async function pendingSpans({ db }: Pick<Store, "db">): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from span_outbox where state = 'pending'`.execute(db);
  return rows[0]?.count ?? 0;
}
