import type { Redacted } from "../../domain/index.ts";
import { cutText } from "../../github/index.ts";
import { inCode, ownInCode } from "./markdown.ts";
import type { PullRequestTextFacts } from "./pull-request-text.ts";
import { checkpointText } from "./status-text.ts";

/** What the check run on our commit says (GH-43). */
export function checkText({
  runId,
  traceId,
  isVerified,
  cause,
  checkpoint,
}: Redacted<Pick<PullRequestTextFacts, "runId" | "traceId" | "isVerified" | "cause" | "checkpoint">>): {
  readonly title: string;
  readonly summary: string;
} {
  const summary = `${inCode(cause)}\n\nRun ${ownInCode(runId)}, trace ${ownInCode(traceId)}. ${checkpointText(checkpoint)}.`;
  return {
    title: isVerified ? "Verified" : "Not verified",
    summary: cutText(summary, `countersign runs show ${runId}`),
  };
}
