import {
  CountersignError,
  cutRedacted,
  type ErrorCode,
  isCountersignError,
  type JsonObject,
  type Redact,
} from "../domain/index.ts";
import { type Answered, type ApiRequest, type Exchanged, requestIdOf } from "./exchange.ts";
import type { GithubDeps } from "./github.ts";

/** How the effect of a write was lost from sight; null: nothing was done (AUD-63). */
export type Lost = "timeout" | "reset" | "server_error" | null;

const textOf = ({ body }: Answered): string => {
  if (typeof body !== "object" || body === null) return "";
  const { message, errors } = body as { message?: unknown; errors?: unknown };
  const listed = Array.isArray(errors)
    ? errors.map((error: unknown) => (typeof error === "string" ? error : String(Object(error)["message"] ?? "")))
    : [];
  return [String(message ?? ""), ...listed].filter((part) => part !== "").join("; ");
};

const longestWords = 300;

/** Words of a body for a message that people read: without secrets, one line, cut, never used as data (GH-115). */
const shown = (redact: Redact, text: string): string => {
  const line = redact(text)
    .replaceAll(/[^\P{C}]|[`\u2028\u2029]/gu, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
  return line === "" ? "" : `: ${cutRedacted(redact(line), longestWords)}`;
};

const numberOf = (headers: Answered["headers"], name: string): number | null => {
  const value = headers[name];
  return value !== undefined && value !== "" && Number.isFinite(Number(value)) ? Number(value) : null;
};

/** GitHub's longest window is an hour. What a clock that is wrong, or a lie, puts further off must not hold a run for ever. */
const longestHoldMs = 3_600_000 + 60_000;

/** Until when a limit holds, milliseconds since 1970; null: GitHub doesn't say. Undefined: no limit (GH-111, GH-112). */
function limitOf(answer: Answered, now: number): number | null | undefined {
  const { status, headers } = answer;
  if (status !== 403 && status !== 429) return undefined;
  const inReach = (until: number): number => Math.min(until, now + longestHoldMs);
  const retryAfterS = numberOf(headers, "retry-after");
  if (retryAfterS !== null) return inReach(now + Math.max(0, retryAfterS) * 1000);
  const resetS = numberOf(headers, "x-ratelimit-reset");
  if (numberOf(headers, "x-ratelimit-remaining") === 0)
    return resetS === null ? null : inReach(Math.max(0, resetS) * 1000 + 1000);
  return status === 429 || /rate limit|abuse detection/i.test(textOf(answer)) ? null : undefined;
}

const ruleForm =
  /GH013|GH006|rule violation|ruleset|protected branch|branch protection|refusing to allow (a|an) (GitHub App|integration|OAuth App)|without `?workflows?`? permission/i;

/** What a 403 without a limit and a rule is about. */
function forbiddenCodeOf(text: string): ErrorCode {
  if (/suspended/i.test(text)) return "GITHUB_SUSPENDED";
  if (/archived|read-only|disabled/i.test(text)) return "GITHUB_ARCHIVED";
  return /locked/i.test(text) ? "GITHUB_LOCKED" : "GITHUB_FORBIDDEN";
}

const codeByStatus: Readonly<Record<number, ErrorCode>> = {
  401: "GITHUB_UNAUTHORIZED",
  404: "GITHUB_NOT_FOUND",
  408: "GITHUB_UNAVAILABLE",
  410: "GITHUB_GONE",
  451: "GITHUB_GONE",
};

function codeOf(status: number, text: string): ErrorCode {
  const known = codeByStatus[status];
  if (known !== undefined) return known;
  if (status >= 500) return "GITHUB_UNAVAILABLE";
  if (status < 400) return "GITHUB_GONE";
  if (ruleForm.test(text)) return "GITHUB_RULE";
  if (status === 403) return forbiddenCodeOf(text);
  return status === 409 && /empty/i.test(text) ? "GITHUB_EMPTY" : "GITHUB_INVALID";
}

/** What a refusal is about, so that nobody else reads GitHub's words. */
function reasonOf(text: string): string | null {
  if (/no common ancestor/i.test(text)) return "unrelated";
  if (/no commits between/i.test(text)) return "no_commits";
  if (/draft pull requests are not supported/i.test(text)) return "drafts_unsupported";
  return /already exists/i.test(text) ? "exists" : null;
}

const isUnknown = (status: number): boolean => status >= 500 || status === 408 || status === 409 || status === 429;

const nameOf = ({ method, route }: ApiRequest): string =>
  `${method} ${route.replace(/^https?:\/\/[^/]+/, "").replace(/\?.*/s, "")}`;

/** The error for an answer that is no success. The codes are told apart by status, headers, then text (GH-113). */
export function failureOf(
  { clock, redactor }: Pick<GithubDeps, "clock" | "redactor">,
  request: ApiRequest,
  answer: Answered,
): CountersignError {
  const text = textOf(answer);
  const waitUntil = limitOf(answer, clock());
  const code = waitUntil === undefined ? codeOf(answer.status, text) : "GITHUB_LIMITED";
  const lost = isUnknown(answer.status) || waitUntil !== undefined ? "server_error" : null;
  const reason = reasonOf(text);
  const details: JsonObject = {
    request: nameOf(request),
    status: answer.status,
    request_id: requestIdOf(answer),
    ...(waitUntil === undefined || waitUntil === null ? {} : { wait_until: new Date(waitUntil).toISOString() }),
    ...(reason === null ? {} : { reason }),
    ...(request.method === "GET" || lost === null ? {} : { lost }),
  };
  const message = `GitHub answered ${answer.status} to \`${nameOf(request)}\`${shown(redactor.redact, text)}`;
  return new CountersignError(code, message, { details });
}

const isRefusal = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED";

/** The error for a request without an answer. */
export function lossOf(request: ApiRequest, exchanged: Extract<Exchanged, { kind: "lost" }>): CountersignError {
  const { reason, cause, host } = exchanged;
  const words = {
    not_sent: "can't be reached",
    timeout: "did not answer in time",
    reset: "broke off",
    aborted: "was not waited for",
  };
  const lost = reason === "timeout" ? "timeout" : "reset";
  const what = isRefusal(cause) ? `GitHub's host \`${host}\` refused the connection` : `GitHub ${words[reason]}`;
  return new CountersignError("GITHUB_UNAVAILABLE", `${what} at \`${nameOf(request)}\``, {
    cause,
    details: {
      request: nameOf(request),
      status: null,
      reason,
      ...(request.method === "GET" || reason === "not_sent" ? {} : { lost }),
    },
  });
}

/** The error for a success whose body can't be read. */
export function unreadable(request: ApiRequest, answer: Answered, cause: unknown): CountersignError {
  return new CountersignError("GITHUB_ANSWER_UNREADABLE", `GitHub's answer to \`${nameOf(request)}\` can't be read`, {
    cause,
    details: {
      request: nameOf(request),
      status: answer.status,
      request_id: requestIdOf(answer),
      ...(request.method === "GET" ? {} : { lost: "server_error" }),
    },
  });
}

/** Whether the effect of a write is out of sight, by the error that it ended with. */
export function lostOf(error: CountersignError): Lost {
  const lost = error.details["lost"];
  return lost === "timeout" || lost === "reset" || lost === "server_error" ? lost : null;
}

/** The failure of a later request of one write: what went before it was done, so that GitHub must be looked at. */
export function halfDone(error: unknown): unknown {
  if (!isCountersignError(error) || lostOf(error) !== null) return error;
  const details = { ...error.details, lost: "server_error" };
  return new CountersignError(error.code, error.message, { cause: error, details });
}

/** Until when a limit holds, as the error says; null: not said. */
export function waitUntilOf(error: CountersignError): number | null {
  const until = error.details["wait_until"];
  return typeof until === "string" ? Date.parse(until) : null;
}

/** Whether GitHub refused a request as it stands, so that nothing was done: 422, no rule. */
export const isRefused = (error: unknown): error is CountersignError =>
  isCountersignError(error, "GITHUB_INVALID") && error.details["status"] === 422;
