import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** A delivery as the sender sees it: from the first byte sent to the last one of the answer. */
export type Relayed = {
  readonly event: string;
  readonly status: number;
  /** What the service says became of it. */
  readonly code: string;
  readonly sentAtMs: number;
  readonly tookMs: number;
};

/** Stands between a sender and the service, hands on each byte, and notes how long the answer took. */
export type WebhookRelay = AsyncDisposable & {
  readonly url: string;
  /** In the order of the answers. */
  readonly relayed: readonly Relayed[];
};

export async function startWebhookRelay(clock: () => number, target: string): Promise<WebhookRelay> {
  const relayed: Relayed[] = [];
  const agent = new Agent({ keepAlive: true });
  const server = createServer((received, response) => {
    relay({ clock, target, agent, relayed }, received, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    relayed,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      agent.destroy();
      await closed;
    },
  };
}

type Relaying = {
  readonly clock: () => number;
  readonly target: string;
  readonly agent: Agent;
  readonly relayed: Relayed[];
};

async function relay(
  { clock, target, agent, relayed }: Relaying,
  received: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const bytes = await buffer(received);
  const { host: _, connection: __, ...headers } = received.headers;
  const sentAtMs = clock();
  const startedAt = performance.now();
  const sending = request(target, { method: "POST", agent, headers });
  sending.end(bytes);
  const [answer] = (await once(sending, "response")) as [IncomingMessage];
  const said = await buffer(answer);
  const code = /"code":"(\w+)"/.exec(said.toString("utf8"))?.[1] ?? "";
  const status = answer.statusCode ?? 0;
  const event = String(headers["x-github-event"]);
  relayed.push({ event, status, code, sentAtMs, tookMs: performance.now() - startedAt });
  response.writeHead(status, { "content-type": "application/json; charset=utf-8" }).end(said);
}
