import { CountersignError, type ErrorCode } from "../domain/index.ts";

/** Who was asked, for messages: never the key, nor credentials that stand in an address. */
export type Asked = { readonly host: string; readonly model: string };

/** What came instead of an answer. `words` are the server's own, without the key. */
export type Failure =
  | {
      readonly kind: "status";
      readonly status: number;
      readonly words: string;
      readonly retryAfterMs: number | null;
      /** The request's parameter that the server names as the reason. */
      readonly parameter: string | null;
    }
  | { readonly kind: "connection"; readonly words: string }
  | { readonly kind: "silent"; readonly silenceMs: number }
  | { readonly kind: "no_answer"; readonly words: string };

/** ACI-70: what another attempt may mend. */
export function mayRetry(failure: Failure): boolean {
  if (failure.kind === "connection") return true;
  return failure.kind === "status" && (isBusy(failure.status) || failure.status >= 500);
}

const isBusy = (status: number): boolean => status === 408 || status === 409 || status === 429;

/** One clear line: host, model and status (issue: bad input). */
export function toError(failure: Failure, asked: Asked, attempts: number): CountersignError {
  const server = `the model server \`${asked.host}\``;
  const details = { host: asked.host, model: asked.model, attempts };
  const tried = attempts > 1 ? ` after ${attempts} attempts` : "";
  switch (failure.kind) {
    case "status": {
      const said = failure.words === "" ? "" : `: ${failure.words}`;
      const message = `${server} answered ${failure.status} for model \`${asked.model}\`${tried}${said}`;
      return new CountersignError(codeOf(failure.status), message, { details: { ...details, status: failure.status } });
    }
    case "connection":
      return new CountersignError(
        "MODEL_UNAVAILABLE",
        `no answer from ${server} for model \`${asked.model}\`${tried}: ${failure.words}`,
        { details },
      );
    case "silent":
      return new CountersignError(
        "MODEL_SILENT",
        `${server} sent nothing for ${failure.silenceMs / 1000} s for model \`${asked.model}\``,
        { details },
      );
    case "no_answer":
      return new CountersignError(
        "MODEL_REJECTED",
        `${server} answered 200 for model \`${asked.model}\` with no chat completion: ${failure.words}`,
        { details },
      );
  }
}

function codeOf(status: number): ErrorCode {
  if (status === 401 || status === 403) return "MODEL_UNAUTHORIZED";
  if (status === 404) return "MODEL_NOT_FOUND";
  return isBusy(status) || status >= 500 ? "MODEL_UNAVAILABLE" : "MODEL_REJECTED";
}

/** `Retry-After` is respected up to here (ACI-70). */
const longestWaitMs = 60_000;
/** Pauses before the second, third and fourth attempt without jitter. */
const pausesMs = [1000, 2000, 4000] as const;

export const mostRetries = pausesMs.length;

/** How long to wait before attempt `attempt + 1`; `chance` in 0 to 1 spreads clients that failed together. */
export function pauseMs(failure: Failure, attempt: number, chance: number): number {
  const asked = failure.kind === "status" ? failure.retryAfterMs : null;
  if (asked !== null) return Math.min(longestWaitMs, Math.max(0, asked));
  const pause = pausesMs[Math.min(attempt, mostRetries) - 1] ?? longestWaitMs;
  return Math.round(pause * (1 + chance / 2));
}

/** RFC 9110 section 10.2.3: seconds or a date. Null where there is none or it is neither. */
export function parseRetryAfter(value: string | null, nowMs: number): number | null {
  if (value === null || value.trim() === "") return null;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return seconds * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : date - nowMs;
}
