import type { Selectable } from "kysely";
import { type JsonObject, parseRunId, type RunId, redactTexts } from "../../domain/index.ts";
import type { Database } from "../../store/index.ts";
import { type AnswerFacts, answerText } from "./answer-text.ts";
import { hostContext } from "./github-job.ts";
import type { GithubRunDeps } from "./github-run-deps.ts";
import { reconcileTool, standingWrites, writeAsHost } from "./host-actions.ts";

/** The queue's name of the job that answers a delivery; its data is `{ deliveryId }`. */
export const answerJob = "answer";

type DeliveryRow = Selectable<Database["deliveries"]>;

/**
 * Tells the sender of a delivery that started nothing, as its row says: a comment for who may write, a reaction for who may
 * not (GH-12, GH-15). An action like any other; the delivery's id stands in the run's place (AUD-10). Done once: what stands
 * is taken from the record, and while it can't be told whether one stands, no other is made.
 */
export async function answerDelivery(deps: GithubRunDeps, deliveryId: string, signal: AbortSignal): Promise<void> {
  const row = await deps.store.db
    .selectFrom("deliveries")
    .selectAll()
    .where("delivery_id", "=", deliveryId as DeliveryRow["delivery_id"])
    .executeTakeFirst();
  const inPlaceOfRun = parseRunId(deliveryId); // GitHub's delivery ids are UUIDs; of another form there is none to answer
  if (row === undefined || row.answer === null || inPlaceOfRun === null) return;
  const write = writeOf(deps, row);
  const context = await contextOf(deps, row, inPlaceOfRun);
  if (write === null || context === null) return;
  if ((await reconcileTool(deps, context, write.tool, signal)) === "unknown") return;
  if ((await standingWrites(deps, context, write.tool)).results.length > 0) return;
  await writeAsHost(deps, context, write, signal);
}

function writeOf(
  { redactor }: GithubRunDeps,
  row: DeliveryRow,
): { readonly tool: string; readonly args: JsonObject } | null {
  const { item_number: issue, comment_id: comment } = row;
  if (issue === null) return null;
  if (row.answer === "confused") {
    const args = comment === null ? { issue, content: "confused" } : { comment, content: "confused" };
    return { tool: "add_reaction", args };
  }
  const { commandCount, id } = row.detail as { readonly commandCount?: number; readonly id?: string };
  const facts: AnswerFacts = { code: row.code, runId: row.run_id, commandCount: commandCount ?? 1, id: id ?? null };
  return { tool: "create_comment", args: { issue, body: answerText(redactTexts(redactor.redact, facts)) } };
}

async function contextOf(deps: GithubRunDeps, row: DeliveryRow, inPlaceOfRun: RunId) {
  const { installation_id: installationId, repository_id: repositoryId, sender_id: senderId } = row;
  if (installationId === null || repositoryId === null || senderId === null) return null;
  await deps.keys.createRun(inPlaceOfRun);
  return hostContext(deps, {
    runId: inPlaceOfRun,
    traceId: deps.keys.traceId(inPlaceOfRun),
    attempt: 0,
    deliveryId: row.delivery_id,
    lease: { runId: inPlaceOfRun, fencingToken: 1 },
    requester: { id: senderId, login: senderId, permission: row.answer === "comment" ? "write" : "none" },
    requesterReference: Buffer.from(deps.randomBytes(16)).toString("hex"),
    repository: { id: repositoryId, name: repositoryId },
    writer: deps.github.writer({ installationId, repositoryId: Number(repositoryId) }),
    branch: null,
  });
}
