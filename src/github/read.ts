import { type Clock, CountersignError, isCountersignError, type Secret } from "../domain/index.ts";
import type { Answered, ApiRequest, Exchange } from "./exchange.ts";
import { failureOf, lossOf, unreadable, waitUntilOf } from "./failure.ts";
import type { GithubDeps } from "./github.ts";

/** What reads an answer's body: a zod schema. */
export type Shape<Data> = { readonly parse: (body: unknown) => Data };

/** Whose credential a request carries. `renew` drops it, so that the next is a new one. */
export type Credential = {
  /** Null: nobody's. */
  readonly authorization: (signal: AbortSignal) => Promise<Secret | null>;
  readonly renew: () => void;
};

export type ReadDeps = Pick<GithubDeps, "clock" | "delay" | "onWaiting" | "redactor"> & {
  readonly exchange: Exchange;
  /** Where redirects may lead: this scheme, host and port alone (SEC-113). */
  readonly origin: string;
};

export type Answer<Data> = { readonly data: Data; readonly headers: Answered["headers"] };

const failuresMost = 2; // AUD-64: reads may be repeated freely; SEC-32 allows the permission look-up two
const waitsMost = 5; // GH-112
const redirectsMost = 3;
const firstWaitMs = 60_000; // GH-112

/** Until when the `count`th limit in a row is waited for, where GitHub doesn't say. */
export const untilAfter = (clock: Clock, count: number): number => clock() + firstWaitMs * 2 ** count;

const isRedirect = ({ status }: Answered): boolean => status > 300 && status < 400 && status !== 304;

/** The address that a redirect names, as a request. Throws for another host. */
function redirected(request: ApiRequest, answer: Answered, origin: string): ApiRequest {
  const location = String(answer.headers["location"] ?? "");
  const target = URL.parse(location, origin);
  if (target?.origin !== origin)
    throw new CountersignError("GITHUB_ANSWER_UNREADABLE", "GitHub redirects to another host, which is not followed", {
      details: { status: answer.status },
    });
  return { method: request.method, route: target.href.replaceAll("{", "%7B").replaceAll("}", "%7D") };
}

async function askOnce(
  deps: ReadDeps,
  request: ApiRequest,
  authorization: Secret | null,
  signal: AbortSignal,
): Promise<Answered> {
  let asked = request;
  for (let redirects = 0; ; redirects += 1) {
    const exchanged = await deps.exchange(asked, authorization, signal);
    signal.throwIfAborted();
    if (exchanged.kind === "lost") throw lossOf(request, exchanged);
    const mayFollow =
      request.method === "GET" && request.isFinal !== true && isRedirect(exchanged) && redirects < redirectsMost;
    if (!mayFollow) return exchanged;
    asked = redirected(request, exchanged, deps.origin);
  }
}

function parsed<Data>(request: ApiRequest, answer: Answered, shape: Shape<Data>): Answer<Data> {
  try {
    return { data: shape.parse(answer.body), headers: answer.headers };
  } catch (error) {
    throw unreadable(request, answer, error);
  }
}

/** What is done about a failed read before it is repeated; it throws where it is not. */
function createPatience(deps: ReadDeps, credential: Credential, signal: AbortSignal) {
  let failures = 0;
  let waits = 0;
  let isRenewed = false;
  return async (error: unknown): Promise<void> => {
    if (isCountersignError(error, "GITHUB_LIMITED") && waits < waitsMost) {
      const until = waitUntilOf(error) ?? untilAfter(deps.clock, waits);
      waits += 1;
      deps.onWaiting?.(until);
      return await deps.delay(Math.max(0, until - deps.clock()), signal);
    }
    const isPassing =
      isCountersignError(error, "GITHUB_UNAVAILABLE") || isCountersignError(error, "GITHUB_ANSWER_UNREADABLE");
    if (isPassing && failures < failuresMost) {
      failures += 1;
      return await deps.delay(failures * 500, signal);
    }
    if (isCountersignError(error, "GITHUB_UNAUTHORIZED") && !isRenewed) {
      isRenewed = true;
      return credential.renew();
    }
    throw error;
  };
}

/** Reads, again where that may help (GH-110 to 112, AUD-64). For requests without an effect only. */
export async function readAnswer<Data>(
  deps: ReadDeps,
  { request, credential }: { readonly request: ApiRequest; readonly credential: Credential },
  shape: Shape<Data>,
  signal: AbortSignal,
): Promise<Answer<Data>> {
  const beforeAnother = createPatience(deps, credential, signal);
  for (;;) {
    signal.throwIfAborted();
    const authorization = await credential.authorization(signal);
    try {
      const answer = await askOnce(deps, request, authorization, signal);
      if (answer.status >= 300) throw failureOf(deps, request, answer);
      return parsed(request, answer, shape);
    } catch (error) {
      await beforeAnother(error);
    }
  }
}
