import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A way to the database server that can stop moving: to whoever comes over it, the server is then frozen (`SIGSTOP`). */
export type FreezingProxy = AsyncDisposable & {
  /** The address given, over this proxy. */
  readonly url: string;
  /** From here on bytes are taken and go nowhere, as with a server that does not run. */
  freeze(): void;
  /** New connections get through. What was sent meanwhile is still on its way. */
  thaw(): void;
  /** What was sent meanwhile arrives. Resolves once the server has ended those connections. */
  deliver(): Promise<void>;
};

export async function openFreezingProxy(to: string): Promise<FreezingProxy> {
  const { hostname, port } = new URL(to);
  const open = new Set<Socket>();
  let isFrozen = false;
  let held: { readonly upstream: Socket; readonly bytes: Buffer[] }[] = [];
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => open.delete(socket));
    }
    let own: (typeof held)[number] | null = null;
    const hold = (): NonNullable<typeof own> => {
      own ??= { upstream, bytes: [] };
      if (!held.includes(own)) held.push(own);
      return own;
    };
    client.on("data", (chunk) => {
      if (isFrozen || own !== null) hold().bytes.push(chunk);
      else upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      if (!isFrozen && own === null) client.write(chunk);
    });
    client.on("close", () => {
      if (isFrozen || own !== null) hold();
      else upstream.destroy();
    });
    upstream.on("close", () => {
      if (!isFrozen) client.destroy();
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = new URL(to);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    freeze: () => {
      isFrozen = true;
    },
    thaw: () => {
      isFrozen = false;
    },
    deliver: async () => {
      const [late, rest] = [held, []];
      held = rest;
      const ended = late.map(({ upstream, bytes }) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        if (upstream.closed) return Promise.resolve();
        upstream.once("close", () => resolve());
        for (const chunk of bytes) upstream.write(chunk);
        upstream.end();
        return promise;
      });
      await Promise.all(ended);
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}
