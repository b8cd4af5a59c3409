import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Octokit } from "@octokit/core";
import type { Secret } from "../domain/index.ts";
import type { GithubDeps } from "./github.ts";

/** A request as Octokit takes it: names in braces are filled from `parameters`, the rest is query or body. */
export type ApiRequest = {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly route: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** A redirect is the answer, not the way to it: an issue that was transferred is gone (GH-120). */
  readonly isFinal?: true;
};

export type Answered = {
  readonly kind: "answered";
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number | undefined>>;
  readonly body: unknown;
};

/** One request and what came of it. `not_sent`: it never left this machine (AUD-63). */
export type Exchanged =
  | Answered
  | {
      readonly kind: "lost";
      readonly reason: "not_sent" | "timeout" | "reset" | "aborted";
      readonly cause: unknown;
      /** Whom it was for. */
      readonly host: string;
    };

export type Exchange = (request: ApiRequest, authorization: Secret | null, signal: AbortSignal) => Promise<Exchanged>;

type Deps = Pick<GithubDeps, "clock" | "onRequest" | "timeoutSignal">;

const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
/** Version of the REST API: "API Versions" of GitHub's documentation. */
const apiVersion = "2022-11-28";

/** Codes that only come before the first byte: name lookup, refused connection, a certificate that is not believed. */
const notSent =
  /^(ENOTFOUND|EAI_|ECONNREFUSED$|UND_ERR_CONNECT_TIMEOUT$|CERT_|DEPTH_ZERO_SELF_SIGNED_CERT$|SELF_SIGNED_CERT_IN_CHAIN$|UNABLE_TO_)/;

/**
 * Errors of connections that never stood, TLS included, as `fetch` reports them. Codes alone don't tell: no route, a reset
 * and a bad TLS record come before the first byte as well as after the last.
 */
const connectErrors = new WeakSet<object>();

function noteConnectError(message: unknown): void {
  const error = field(message, "error");
  if (typeof error === "object" && error !== null) connectErrors.add(error);
}

/** Once for all, however many are made. */
function listenForConnectErrors(): void {
  unsubscribe("undici:client:connectError", noteConnectError);
  subscribe("undici:client:connectError", noteConnectError);
}

/** Whether a request that failed so can't have left this machine (AUD-63). */
function wasNeverSent(cause: unknown): boolean {
  const code = field(cause, "code");
  return (cause instanceof Error && connectErrors.has(cause)) || (typeof code === "string" && notSent.test(code));
}

/** The error below Octokit's and fetch's, which carries the system's code. */
function innermost(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? innermost(error.cause) : error;
}

const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;

const answered = (response: unknown): Answered => ({
  kind: "answered",
  status: Number(field(response, "status")),
  headers: (field(response, "headers") ?? {}) as Answered["headers"],
  body: field(response, "data"),
});

type Sent = { readonly given: AbortSignal; readonly timeout: AbortSignal; readonly host: string };

/** What became of a request that Octokit threw for: an answer all the same, or none. */
function exchangedOf(error: unknown, { given, timeout, host }: Sent): Exchanged {
  const response = field(error, "response");
  if (response !== undefined) return answered(response);
  const cause = innermost(error);
  if (given.aborted) return { kind: "lost", reason: "aborted", cause, host };
  if (timeout.aborted) return { kind: "lost", reason: "timeout", cause, host };
  return { kind: "lost", reason: wasNeverSent(cause) ? "not_sent" : "reset", cause, host };
}

/** One Octokit without plugins: it neither retries nor waits, and follows no redirect (AUD-64, SEC-113). */
export function createExchange(
  deps: Deps,
  settings: { readonly apiUrl: string; readonly timeoutMs: number },
): Exchange {
  listenForConnectErrors();
  let opened: Promise<Octokit> | null = null;
  const open = async (): Promise<Octokit> => {
    const { Octokit: Client } = await import("@octokit/core"); // a run without an App never speaks to GitHub
    return new Client({ baseUrl: settings.apiUrl, userAgent: "countersign", log: quiet });
  };

  async function exchange(request: ApiRequest, authorization: Secret | null, given: AbortSignal): Promise<Exchanged> {
    const timeout = (deps.timeoutSignal ?? AbortSignal.timeout)(settings.timeoutMs);
    try {
      opened ??= open();
      const octokit = await opened;
      const response: unknown = await octokit.request({
        ...request.parameters,
        method: request.method,
        url: request.route,
        headers: {
          "x-github-api-version": apiVersion,
          ...(authorization === null ? {} : { authorization: authorization.reveal() }),
        },
        request: { signal: AbortSignal.any([given, timeout]), redirect: "manual", log: quiet },
      });
      return answered(response);
    } catch (error) {
      return exchangedOf(error, { given, timeout, host: new URL(settings.apiUrl).host });
    }
  }

  return async (request, authorization, signal) => {
    const startedAt = deps.clock();
    const exchanged = await exchange(request, authorization, signal);
    deps.onRequest?.({
      method: request.method,
      route: request.route,
      status: exchanged.kind === "answered" ? exchanged.status : null,
      requestId: exchanged.kind === "answered" ? requestIdOf(exchanged) : null,
      durationMs: deps.clock() - startedAt,
    });
    return exchanged;
  };
}

/** GitHub's name for a request, where it looks like one. */
export function requestIdOf({ headers }: Pick<Answered, "headers">): string | null {
  const id = String(headers["x-github-request-id"] ?? "");
  return /^[\w:-]{1,100}$/.test(id) ? id : null;
}
