import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { JsonValue } from "../../domain/index.ts";

/** `before`: the request has no effect. `after`: it has, and only the answer is lost or another. */
export type Fault =
  | {
      readonly kind: "answer";
      readonly when: "before" | "after";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: JsonValue;
    }
  | { readonly kind: "reset"; readonly when: "before" | "after" }
  | { readonly kind: "hang"; readonly when: "before" | "after" }
  /** The request is taken up once the promise has settled. */
  | { readonly kind: "delay"; readonly until: Promise<unknown> }
  | { readonly kind: "broken_json" };

export type FaultPlan = {
  /** As in the log, such as `POST /repos/{owner}/{repo}/pulls`. A function sees each request of every route. */
  readonly route: string | ((request: { readonly route: string; readonly path: string }) => boolean);
  /** The first request that is met, counted from 1. Default 1. */
  readonly nth?: number;
  /** How many requests in a row from there. Default 1. */
  readonly times?: number;
  readonly fault: Fault;
};

export type PlannedFault = {
  /** Resolves when the first request was met. */
  readonly met: Promise<void>;
  /** How many requests were met so far. */
  count(): number;
  cancel(): void;
};

/** What goes wrong, and when: planned by a test, asked at each request. */
export class Faults {
  readonly #plans = new Set<{ readonly plan: FaultPlan; seen: number; met: number; readonly onMet: () => void }>();

  plan(plan: FaultPlan): PlannedFault {
    const met = Promise.withResolvers<void>();
    const entry = { plan, seen: 0, met: 0, onMet: met.resolve };
    this.#plans.add(entry);
    return { met: met.promise, count: () => entry.met, cancel: () => void this.#plans.delete(entry) };
  }

  /** The fault of this request, if there is one. Each plan that fits counts the request. */
  next(request: { readonly route: string; readonly path: string }): Fault | null {
    let fault: Fault | null = null;
    for (const entry of this.#plans) {
      const { route, nth = 1, times = 1 } = entry.plan;
      if (typeof route === "function" ? !route(request) : route !== request.route) continue;
      entry.seen += 1;
      if (fault !== null || entry.seen < nth || entry.seen >= nth + times) continue;
      fault = entry.plan.fault;
      entry.met += 1;
      entry.onMet();
    }
    return fault;
  }
}

/** True: the fault has dealt with the response. */
export async function faultStops(
  fault: Fault | null,
  when: "before" | "after",
  response: ServerResponse,
  finish: (status: number | null, answerBody?: JsonValue) => void,
): Promise<boolean> {
  if (fault === null || !("when" in fault) || fault.when !== when) return false;
  if (fault.kind === "answer") {
    const answerBody = fault.body ?? { message: `status ${fault.status}` };
    finish(fault.status, answerBody);
    response.writeHead(fault.status, { "content-type": "application/json; charset=utf-8", ...fault.headers });
    response.end(JSON.stringify(answerBody));
    return true;
  }
  finish(null);
  if (fault.kind === "reset") response.socket?.resetAndDestroy();
  else if (!response.closed) await once(response, "close");
  return true;
}
