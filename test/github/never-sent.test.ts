import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createExchange } from "../../src/github/exchange.ts";

const never = new AbortController().signal;
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Answers the first bytes of each connection so. */
async function serverThat(answers: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => answers(socket));
  });
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function lossAt(apiUrl: string): Promise<string> {
  const exchange = createExchange({ clock: () => 0 }, { apiUrl, timeoutMs: 60_000 });
  const exchanged = await exchange({ method: "POST", route: "/issues" }, null, never);
  return exchanged.kind === "lost" ? exchanged.reason : exchanged.kind;
}

/** By real sockets: the same code of the system can come before the first byte and after the last. */
describe("a request that failed (AUD-63)", () => {
  it.each<[string, (socket: Socket) => void]>([
    ["breaks the connection off", (socket) => socket.resetAndDestroy()],
    ["answers without TLS", (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")],
    ["hangs up", (socket) => socket.end()],
  ])("was never sent where the server %s while TLS is agreed on", async (_what, answers) => {
    const port = await serverThat(answers);

    expect(await lossAt(`https://127.0.0.1:${port}`)).toBe("not_sent");
  });

  it.each<[string, (socket: Socket) => void]>([
    ["breaks the connection off", (socket) => socket.resetAndDestroy()],
    ["hangs up", (socket) => socket.end()],
    ["ends within the head of the answer", (socket) => socket.end("HTTP/1.1 201 Crea")],
  ])("may have had its effect where the server %s after the first byte", async (_what, answers) => {
    const port = await serverThat(answers);

    expect(await lossAt(`http://127.0.0.1:${port}`)).toBe("reset");
  });

  it("was never sent where nobody listens, or the name is none", async () => {
    const port = await serverThat(() => undefined);
    await new Promise((closed) => servers.splice(0)[0]?.close(closed));

    expect(await lossAt(`http://127.0.0.1:${port}`)).toBe("not_sent");
    expect(await lossAt("http://nobody.invalid")).toBe("not_sent");
  });
});
