import { z } from "zod";
import { createExchange } from "./exchange.ts";
import { failureOf, lossOf } from "./failure.ts";
import type { GithubDeps, GithubSettings } from "./github.ts";
import { readAnswer } from "./read.ts";
import { appCredential } from "./tokens.ts";

/** One attempt of GitHub's to deliver to the App. `guid` is what `X-GitHub-Delivery` held. */
export type AppDelivery = {
  readonly id: number;
  readonly guid: string;
  /** Without the action, such as `issues`. */
  readonly event: string;
  /** ISO 8601. */
  readonly deliveredAt: string;
  /** What was answered; 0 where nothing was. */
  readonly statusCode: number;
};

/** The App's own record of deliveries at GitHub, and the wish to have one again (GH-32). */
export type AppDeliveries = {
  /** One page, newest first; `next` is the cursor of the following one. */
  readonly list: (
    cursor: string | null,
    signal: AbortSignal,
  ) => Promise<{ readonly deliveries: readonly AppDelivery[]; readonly next: string | null }>;
  /** Sent once. That GitHub took the wish says nothing of whether the delivery then comes. */
  readonly redeliver: (id: number, signal: AbortSignal) => Promise<void>;
};

/** "List deliveries for an app webhook" of GitHub's REST reference. */
const Deliveries = z.array(
  z
    .object({
      id: z.number(),
      guid: z.string(),
      event: z.string(),
      delivered_at: z.string(),
      status_code: z.number(),
    })
    .transform(({ id, guid, event, delivered_at, status_code }): AppDelivery => {
      return { id, guid, event, deliveredAt: delivered_at, statusCode: status_code };
    }),
);

const pageSize = 100;

export function openAppDeliveries(
  deps: GithubDeps,
  settings: Pick<GithubSettings, "appId" | "privateKey" | "apiUrl" | "requestTimeoutMs">,
): AppDeliveries {
  const exchange = createExchange(deps, { apiUrl: settings.apiUrl, timeoutMs: settings.requestTimeoutMs ?? 30_000 });
  const credential = appCredential(deps.clock, settings.appId, settings.privateKey);
  const readDeps = { ...deps, exchange, origin: new URL(settings.apiUrl).origin };
  return {
    list: async (cursor, signal) => {
      const parameters = { per_page: pageSize, ...(cursor === null ? {} : { cursor }) };
      const request = { method: "GET", route: "/app/hook/deliveries", parameters } as const;
      const { data, headers } = await readAnswer(readDeps, { request, credential }, Deliveries, signal);
      return { deliveries: data, next: cursorOf(String(headers["link"] ?? "")) };
    },
    redeliver: async (id, signal) => {
      const parameters = { delivery_id: id };
      const request = { method: "POST", route: "/app/hook/deliveries/{delivery_id}/attempts", parameters } as const;
      const exchanged = await exchange(request, await credential.authorization(signal), signal);
      if (exchanged.kind === "lost") throw lossOf(request, exchanged);
      if (exchanged.status >= 300) throw failureOf(deps, request, exchanged);
    },
  };
}

/** The cursor of the next page stands in its address alone ("Using pagination in the REST API"). */
function cursorOf(link: string): string | null {
  const next = /<([^>]+)>;\s*rel="?next"?/.exec(link)?.[1];
  return next === undefined ? null : (URL.parse(next)?.searchParams.get("cursor") ?? null);
}
