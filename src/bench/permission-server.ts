import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { neededPermissions } from "../github/index.ts";

/** The few answers of GitHub that taking a delivery needs, on loopback and at once: everybody may write everywhere. */
export type PermissionServer = AsyncDisposable & { readonly apiUrl: string };

const tokenMs = 3_600_000;

export async function startPermissionServer(clock: () => number): Promise<PermissionServer> {
  const answers: readonly (readonly [RegExp, (found: string) => object])[] = [
    [/^\/app$/, () => ({ id: 4711, slug: "bench", name: "Bench", permissions: neededPermissions, events: [] })],
    [
      /^\/app\/installations$/,
      () => [{ id: 1, account: { login: "bench" }, suspended_at: null, permissions: neededPermissions }],
    ],
    [/^\/users\/(.+)$/, (login) => ({ id: 90_001, login })],
    [
      /^\/app\/installations\/(\d+)\/access_tokens$/,
      () => ({ token: "bench", expires_at: new Date(clock() + tokenMs).toISOString() }),
    ],
    [
      /^\/repositories\/\d+\/collaborators\/person-(\d+)\/permission$/,
      (id) => ({ permission: "write", user: { id: Number(id), login: `person-${id}` } }),
    ],
  ];
  const server = createServer((request, response) => {
    request.resume();
    const [path = ""] = decodeURIComponent(request.url ?? "").split("?");
    for (const [form, answer] of answers) {
      const found = form.exec(path);
      if (found !== null) return reply(response, request.method === "POST" ? 201 : 200, answer(found[1] ?? ""));
    }
    reply(response, 404, { message: "Not Found" });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    apiUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json; charset=utf-8" });
  response.end(JSON.stringify(body));
}
