import { CountersignError, type JsonObject } from "../domain/index.ts";
import type { Answered, ApiRequest, Exchanged } from "./exchange.ts";
import { requestIdOf } from "./exchange.ts";
import { failureOf, lossOf, unreadable, waitUntilOf } from "./failure.ts";
import type { Pace } from "./pace.ts";
import type { Credential, ReadDeps, Shape } from "./read.ts";

/** One request that changes something, sent once; a refused token is renewed and only then is it sent again. */
export type Send = <Data>(request: ApiRequest, shape: Shape<Data>, signal: AbortSignal) => Promise<Data>;

export type SendDeps = Pick<ReadDeps, "exchange" | "clock" | "redactor"> & { readonly pace: Pace };

/** Safe to record: which request, and GitHub's name for it. */
export type Step = JsonObject;

export const stepOf = ({ method, route }: ApiRequest, answer: Answered): Step => ({
  request: `${method} ${route}`,
  status: answer.status,
  request_id: requestIdOf(answer),
});

const aborted = (): CountersignError => new CountersignError("ABORTED", "stopped before anything was sent to GitHub");

/** `steps` takes a line for each answered request. Each request waits for its turn (GH-112). */
export function createSend(
  deps: SendDeps,
  { installationId, credential }: { readonly installationId: number; readonly credential: Credential },
  steps: Step[],
): Send {
  async function exchangeOnce(request: ApiRequest, signal: AbortSignal): Promise<Answered> {
    const authorization = await credential.authorization(signal);
    await deps.pace.take(installationId, signal);
    if (signal.aborted) throw aborted();
    const exchanged: Exchanged = await deps.exchange(request, authorization, signal);
    if (exchanged.kind === "lost") throw lossOf(request, exchanged);
    steps.push(stepOf(request, exchanged));
    return exchanged;
  }

  return async (request, shape, signal) => {
    let answer = await exchangeOnce(request, signal);
    if (answer.status === 401) {
      credential.renew();
      answer = await exchangeOnce(request, signal);
    }
    if (answer.status >= 300) {
      const error = failureOf(deps, request, answer);
      if (error.code === "GITHUB_LIMITED") deps.pace.hold(installationId, waitUntilOf(error));
      throw error;
    }
    deps.pace.release(installationId);
    try {
      return shape.parse(answer.body);
    } catch (error) {
      throw unreadable(request, answer, error);
    }
  };
}
