import type { AuthorizationRequest, PolicyEngine } from "./authorization-request.ts";
import { cedarEvaluation } from "./authorize.ts";
import { toCedarQuestion } from "./cedar-call.ts";

/**
 * Cedar's own evaluation of one request, ready to be repeated: no floor, no digest, no record around it. It is what
 * `authorize` is measured against, and decides nothing. True where Cedar alone would allow.
 */
export function rawEvaluation(
  engine: Pick<PolicyEngine, "schemaDigest" | "policySetDigest">,
  request: AuthorizationRequest,
): () => boolean {
  const evaluate = cedarEvaluation(engine.schemaDigest, engine.policySetDigest);
  const question = toCedarQuestion(request);
  return () => {
    const answer = evaluate(question);
    return answer.type === "success" && answer.response.decision === "allow";
  };
}
