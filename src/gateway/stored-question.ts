import type { ActionId, JsonObject } from "../domain/index.ts";
import type { QuestionText } from "./pending-approval.ts";
import { type RecoveryDeps, readStoredAction } from "./reconcile-open.ts";

/** A question as the record has it, for whoever puts it to a person or takes the run up again. */
export type StoredQuestion = QuestionText & {
  readonly tool: string;
  readonly risk: string;
  readonly policyIds: readonly string[];
  readonly arguments: JsonObject;
};

/** Throws `KEYS_UNUSABLE` where it can't be opened, a plain `Error` where nobody was asked about the action. */
export async function readStoredQuestion(
  deps: Pick<RecoveryDeps, "store" | "keys">,
  actionId: ActionId,
): Promise<StoredQuestion> {
  const { trail, entries, texts } = await readStoredAction(deps, actionId);
  const asked = entries.find(({ state }) => state === "approval_pending");
  const decision = entries.find(({ type, decisionId }) => type === "decision" && decisionId === asked?.decisionId);
  const [question, args] = ["question", "arguments"].map((name) => texts.find(({ field }) => field === name)?.bytes);
  if (asked === undefined || question == null || args == null) throw new Error(`nobody was asked about ${actionId}`);
  return {
    ...(asJson(question) as unknown as QuestionText),
    tool: trail.proposed.tool,
    risk: String(asked.evidence["risk"]),
    policyIds: (decision?.evidence["policyIds"] ?? []) as readonly string[],
    arguments: asJson(args),
  };
}

const asJson = (bytes: Uint8Array): JsonObject => JSON.parse(new TextDecoder().decode(bytes)) as JsonObject;
