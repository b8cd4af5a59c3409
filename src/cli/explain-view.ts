import type { JsonObject } from "../domain/index.ts";
import type { RecordedDecision } from "../ledger/index.ts";
import type { AuthorizationRequest } from "../policy/index.ts";
import { type Replayed, recordedAnswer } from "../run/index.ts";
import { indented, inLine, type Terminal } from "./terminal.ts";

type Explained = { readonly recorded: RecordedDecision; readonly replayed: Replayed };

/** One decision: what was asked, by which policies it was answered, and whether the answer is still the same. */
export function explanationText({ redact }: Pick<Terminal, "redact">, { recorded, replayed }: Explained): string {
  const { effect, policyIds } = recordedAnswer(recorded);
  const { evidence, decisionId, entry } = recorded;
  return [
    `decision    ${inLine(decisionId)}, ${entry.time}\n`,
    `answer      ${effect} by ${inLine(policyIds.join(", "))}\n`,
    ...requestsOf(recorded).map(requestText),
    `policies    ${inLine(String(evidence["policySetDigest"]))}, ${inLine(String(evidence["engineVersion"]))}, floor ${inLine(String(evidence["floorVersion"]))}\n`,
    ...policiesText(redact, replayed),
    `again       ${againText(replayed)}\n`,
  ].join("");
}

function requestsOf({ requests }: RecordedDecision): readonly AuthorizationRequest[] {
  return requests === null ? [] : (JSON.parse(new TextDecoder().decode(requests)) as readonly AuthorizationRequest[]);
}

function requestText(request: AuthorizationRequest): string {
  const { principal, tool, path, risk, approved, requestedBy } = request;
  const who = principal.kind === "person" ? principal.person.login : principal.kind;
  const place =
    path === null
      ? ""
      : ` on ${path.resolved}${path.requested === path.resolved ? "" : ` (asked for as ${path.requested})`}`;
  const yes = approved ? ", approved" : "";
  return `asked       ${inLine(`${who}: ${tool}${place}; ${risk}${yes}; for ${requestedBy.login} (${requestedBy.permission})`)}\n`;
}

/** The text of each deciding policy that is the operator's, and the advice of all. */
function policiesText(redact: Terminal["redact"], replayed: Replayed): readonly string[] {
  if (replayed.kind !== "reproduced" && replayed.kind !== "different") return [];
  const { now, engine } = replayed;
  return now.policyIds.flatMap((id) => {
    const text = engine.policies.find((policy) => policy.id === id)?.text;
    const advice = now.advice[id];
    return [
      ...(text === undefined ? [] : [`policy      ${indented(redact(text))}\n`]),
      ...(advice === undefined ? [] : [`advice      ${inLine(`${id}: ${advice}`)}\n`]),
    ];
  });
}

function againText(replayed: Replayed): string {
  switch (replayed.kind) {
    case "reproduced":
      return "the same answer";
    case "different":
      return inLine(
        `ANOTHER ANSWER: ${replayed.now.effect} by ${replayed.now.policyIds.join(", ")} (${replayed.differs.join(", ")} differ)`,
      );
    case "erased":
      return "not tested: the request was erased";
    default:
      return `NOT TESTED: ${inLine(replayed.reason)}`;
  }
}

export function explanationJson({ recorded, replayed }: Explained): JsonObject {
  const { effect, policyIds } = recordedAnswer(recorded);
  const decided = replayed.kind === "reproduced" || replayed.kind === "different" ? replayed.now : null;
  return {
    decision_id: recorded.decisionId,
    recorded: { effect, policy_ids: policyIds },
    now: decided === null ? null : { effect: decided.effect, policy_ids: decided.policyIds, advice: decided.advice },
    result: replayed.kind,
    requests: requestsOf(recorded) as readonly JsonObject[],
  };
}
