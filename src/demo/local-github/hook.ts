import { createHmac, randomUUID } from "node:crypto";
import type { JsonObject } from "../../domain/index.ts";
import { type Emitted, timeOf } from "./world.ts";

export type HookTarget = { readonly url: string; readonly secret: string };

export type HookDelivery = {
  readonly id: number;
  /** `X-GitHub-Delivery`: the same for each redelivery. */
  readonly guid: string;
  readonly event: string;
  readonly action: string | null;
  readonly isRedelivery: boolean;
  readonly deliveredAt: string;
  readonly installationId: number | null;
  readonly repositoryId: number | null;
  readonly request: { readonly headers: Readonly<Record<string, string>>; readonly body: string };
  /** 0 while it is under way and when nobody answered. */
  statusCode: number;
  status: string;
  responseBody: string;
};

type HookDeps = { readonly clock: () => number; readonly nextId: () => number; readonly appId: number };

/** GitHub gives up on an answer after ten seconds. */
const patienceMs = 10_000;
/** Sent to every App, whatever it subscribed to. */
const always = new Set(["installation", "installation_repositories", "ping"]);

/** The App's webhook: signs, delivers, remembers and redelivers. Never repeats a delivery by itself, as GitHub doesn't either. */
export class Hook {
  readonly deliveries: HookDelivery[] = [];
  readonly #deps: HookDeps;
  readonly #events: ReadonlySet<string>;
  readonly #underWay = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #target: HookTarget | null;
  /** Held back deliveries are stored as failed, as if the receiver were down. */
  isReceiverDown = false;

  constructor(deps: HookDeps, events: readonly string[], target: HookTarget | null) {
    this.#deps = deps;
    this.#events = new Set(events);
    this.#target = target;
  }

  get target(): HookTarget | null {
    return this.#target;
  }

  set target(target: HookTarget | null) {
    this.#target = target;
  }

  emit(emitted: Emitted): void {
    if (!this.#events.has(emitted.event) && !always.has(emitted.event)) return;
    const body = JSON.stringify(emitted.payload);
    this.#send(randomUUID(), body, {
      event: emitted.event,
      action: emitted.action,
      isRedelivery: false,
      installationId: emitted.installation?.id ?? null,
      repositoryId: emitted.repository?.id ?? null,
    });
  }

  /** Sends the same bytes under the same id once more. False: there is no such delivery. */
  redeliver(id: number): boolean {
    const former = this.deliveries.find((delivery) => delivery.id === id);
    if (former === undefined) return false;
    this.#send(former.guid, former.request.body, { ...former, isRedelivery: true });
    return true;
  }

  /** Resolves once every delivery has its result, those that others caused meanwhile included. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.settled();
  }

  #send(
    guid: string,
    body: string,
    about: Pick<HookDelivery, "event" | "action" | "isRedelivery" | "installationId" | "repositoryId">,
  ): void {
    const delivery: HookDelivery = {
      id: this.#deps.nextId(),
      guid,
      event: about.event,
      action: about.action,
      isRedelivery: about.isRedelivery,
      deliveredAt: timeOf(this.#deps.clock()),
      installationId: about.installationId,
      repositoryId: about.repositoryId,
      request: {
        headers: headersOf(
          this.#deps.appId,
          { guid, event: about.event },
          { body, secret: this.#target?.secret ?? "" },
        ),
        body,
      },
      statusCode: 0,
      status: "pending",
      responseBody: "",
    };
    this.deliveries.push(delivery);
    const sending = this.#post(delivery).finally(() => this.#underWay.delete(sending));
    this.#underWay.add(sending);
  }

  async #post(delivery: HookDelivery): Promise<void> {
    if (this.#target === null || this.isReceiverDown) {
      delivery.status = "failed to connect to host";
      return;
    }
    try {
      const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(patienceMs)]);
      const { headers, body } = delivery.request;
      const response = await fetch(this.#target.url, { method: "POST", headers, body, signal, redirect: "manual" });
      delivery.responseBody = await response.text();
      delivery.statusCode = response.status;
      delivery.status = response.ok ? "OK" : `Invalid HTTP Response: ${response.status}`;
    } catch {
      delivery.status = "failed to connect to host";
    }
  }
}

function headersOf(
  appId: number,
  { guid, event }: { readonly guid: string; readonly event: string },
  { body, secret }: { readonly body: string; readonly secret: string },
): Record<string, string> {
  const sign = (algorithm: string): string =>
    `${algorithm}=${createHmac(algorithm, secret).update(body).digest("hex")}`;
  return {
    Accept: "*/*",
    "Content-Type": "application/json",
    "User-Agent": "GitHub-Hookshot/1d0ca1e",
    "X-GitHub-Delivery": guid,
    "X-GitHub-Event": event,
    "X-GitHub-Hook-ID": "1",
    "X-GitHub-Hook-Installation-Target-ID": String(appId),
    "X-GitHub-Hook-Installation-Target-Type": "integration",
    "X-Hub-Signature": sign("sha1"),
    "X-Hub-Signature-256": sign("sha256"),
  };
}

/** A delivery as the list shows it. */
export const deliveryView = (delivery: HookDelivery): JsonObject => ({
  id: delivery.id,
  guid: delivery.guid,
  delivered_at: delivery.deliveredAt,
  redelivery: delivery.isRedelivery,
  duration: 0,
  status: delivery.status,
  status_code: delivery.statusCode,
  event: delivery.event,
  action: delivery.action,
  installation_id: delivery.installationId,
  repository_id: delivery.repositoryId,
  throttled_at: null,
});

/** A delivery alone, with what was sent and answered. */
export const wholeDeliveryView = (delivery: HookDelivery): JsonObject => ({
  ...deliveryView(delivery),
  url: "",
  request: { headers: delivery.request.headers, payload: JSON.parse(delivery.request.body) as JsonObject },
  response: { headers: {}, payload: delivery.responseBody },
});
