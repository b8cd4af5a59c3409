import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { CountersignError, isCountersignError, type JsonObject, type Secret } from "../domain/index.ts";
import { acceptDelivery } from "./accept-delivery.ts";
import type { AcceptDeps } from "./intake-deps.ts";
import { handledEvents } from "./read-event.ts";
import { readRequest } from "./read-request.ts";
import type { SignedDelivery } from "./reading.ts";
import type { Outcome } from "./record-delivery.ts";
import { checkSecrets, type Receive, throughProbot } from "./through-probot.ts";

export type IntakeDeps = AcceptDeps & {
  /** For `/readyz`: whether work can be accepted, and what is known about that; no secrets, no names. */
  readonly health: () => Promise<{ readonly isReady: boolean; readonly facts: JsonObject }>;
  /** One line about a delivery that could not be stored: its id and an error code, never a text of it. */
  readonly onTrouble: (line: string, error: unknown) => void;
};

export type IntakeSettings = {
  readonly privateKey: Secret;
  /** Current first; a second one while the secret is changed. Each of 32 bytes or more. */
  readonly webhookSecrets: readonly Secret[];
  /** Such as `/api/github/webhooks`. */
  readonly webhookPath: string;
};

/** The webhook server. Disposing takes no more connections, answers what is in hand, and ends. */
export type Intake = AsyncDisposable & {
  /** Answers with the port, which is a free one where 0 was asked for. Throws `CONFIG_INVALID` where it can't be had. */
  listen(port: number, host: string): Promise<number>;
};

const headerSizeLimitBytes = 16 * 1024;
/** Each may hold a body of the cap in memory. */
const connectionLimit = 256;

/**
 * Our own `node:http` server (SEC-110): `POST` on the webhook path, `GET /healthz` and `/readyz`, nothing else. Throws
 * `CONFIG_INVALID` for a webhook secret that is too short.
 */
export function createIntake(deps: IntakeDeps, settings: IntakeSettings): Intake {
  checkSecrets(settings.webhookSecrets);
  const [secret] = settings.webhookSecrets;
  if (secret === undefined) throw new Error("no secret");
  const probotSettings = { appId: deps.ownApp.id, privateKey: settings.privateKey, secret };
  const accept = (delivery: SignedDelivery, signal: AbortSignal) => acceptDelivery(deps, delivery, signal);
  const viaProbot = throughProbot(probotSettings, accept);
  // What nobody handles needs no Octokit of its own; its name may be any word, as the header is not signed.
  const receive: Receive<Outcome> = (delivery, signal) =>
    handledEvents.has(delivery.eventName) ? viaProbot(delivery, signal) : accept(delivery, signal);
  const { headersMs, requestMs, checkMs } = deps.times;
  const server = createServer(
    {
      maxHeaderSize: headerSizeLimitBytes,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: checkMs,
    },
    (request, response) => {
      route({ deps, settings, receive }, request, response).catch((error: unknown) => {
        deps.onTrouble("a request could not be answered", error);
        response.destroy();
      });
    },
  );
  server.maxConnections = connectionLimit;
  return {
    listen: (port, host) => listen(server, port, host),
    [Symbol.asyncDispose]: () => close(server),
  };
}

type Handling = {
  readonly deps: IntakeDeps;
  readonly settings: IntakeSettings;
  readonly receive: Receive<Outcome>;
};

async function route(handling: Handling, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path] = (request.url ?? "").split("?");
  const isHealth = path === "/healthz" || path === "/readyz";
  const method = isHealth ? "GET" : "POST";
  if (!isHealth && path !== handling.settings.webhookPath) return reply(response, 404, { error: "not_found" });
  if (request.method !== method) {
    response.setHeader("allow", method);
    return reply(response, 405, { error: "method_not_allowed" });
  }
  if (isHealth) return replyHealth(handling.deps, response, path === "/readyz");
  await receiveWebhook(handling, request, response);
}

/** Alive as long as it answers; ready as long as work can be accepted. Both say what is known (AUD-59, AUD-60). */
async function replyHealth(deps: IntakeDeps, response: ServerResponse, isAskedForReady: boolean): Promise<void> {
  const { isReady, facts } = await deps.health().catch(() => ({ isReady: false, facts: {} }));
  if (isAskedForReady) reply(response, isReady ? 200 : 503, { ...facts, ok: isReady });
  else reply(response, 200, { ...facts, ok: true, ready: isReady });
}

async function receiveWebhook(handling: Handling, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { deps, settings, receive } = handling;
  const sizeLimitBytes = deps.operator.webhook.bodyBytes;
  const read = await readRequest(request, { secrets: settings.webhookSecrets, sizeLimitBytes });
  if (read.kind === "broken_off") return;
  if (read.kind === "refused") return reply(response, read.status, { error: read.reason });
  const { delivery } = read;
  const late = AbortSignal.timeout(deps.times.answerMs);
  try {
    const { result, code } = await beforeLate(receive(delivery, late), late);
    reply(response, 202, { result, code });
  } catch (error) {
    const code = isCountersignError(error) ? error.code : "bug";
    deps.onTrouble(`delivery ${delivery.deliveryId} could not be stored: ${code}`, error);
    reply(response, 500, { error: code });
  }
}

/** An answer in time, even if it is 500: should the work be done after all, its redelivery is a duplicate. */
function beforeLate<Value>(work: Promise<Value>, late: AbortSignal): Promise<Value> {
  return new Promise((done, fail) => {
    const give = (): void =>
      fail(new CountersignError("LEDGER_UNAVAILABLE", "the delivery was not stored in time", { cause: late.reason }));
    late.addEventListener("abort", give, { once: true });
    work.then(done, fail).finally(() => late.removeEventListener("abort", give));
  });
}

function reply(response: ServerResponse, status: number, body: JsonObject): void {
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  response.end(text);
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((done, fail) => {
    const refuse = (cause: NodeJS.ErrnoException): void => {
      const why = cause.code === "EADDRINUSE" ? "is taken by another program" : "can't be listened on";
      const remedy = "set PORT to a free port and HOST to an address of this machine";
      fail(new CountersignError("CONFIG_INVALID", `port \`${port}\` of \`${host}\` ${why}`, { cause, remedy }));
    };
    server.once("error", refuse);
    server.listen(port, host, () => {
      server.off("error", refuse);
      done((server.address() as AddressInfo).port);
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((done) => {
    server.close(() => done());
    server.closeIdleConnections();
  });
}
