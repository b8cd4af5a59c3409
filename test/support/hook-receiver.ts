import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type Received = { readonly headers: Readonly<Record<string, string | undefined>>; readonly text: string };

export type HookReceiver = AsyncDisposable & {
  readonly url: string;
  readonly received: readonly Received[];
  /** What is answered from now on; 202 at first. */
  status: number;
};

/** Takes webhooks on 127.0.0.1 and keeps their bytes. */
export async function startHookReceiver(): Promise<HookReceiver> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const headers = request.headers as Record<string, string | undefined>;
    received.push({ headers, text: Buffer.concat(chunks).toString("utf8") });
    response.writeHead(receiver.status).end("taken");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const receiver: HookReceiver = {
    url: `http://127.0.0.1:${port}/api/github/webhooks`,
    received,
    status: 202,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return receiver;
}
