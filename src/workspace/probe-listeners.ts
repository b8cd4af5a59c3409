import { createSocket } from "node:dgram";
import { once } from "node:events";
import { chmodSync, closeSync, constants, openSync } from "node:fs";
import { createServer, type ListenOptions, type Server } from "node:net";
import { join } from "node:path";

/** What waits on the host for a probe that gets out: each answers whatever it hears. */
export type ProbeListeners = AsyncDisposable & {
  readonly tcpPort: number;
  readonly udpPort: number;
  /** The name of a socket outside any file system, without its leading NUL. */
  readonly abstractName: string;
  readonly socketPath: string;
};

/** Listens on loopback, under an abstract name and in `folder`, for a probe alone. */
export async function openProbeListeners(folder: string, name: string): Promise<ProbeListeners> {
  await using undo = new AsyncDisposableStack();
  const listen = async (where: ListenOptions): Promise<Server> => {
    const server = createServer((socket) =>
      socket
        .on("error", () => {})
        .resume()
        .end("heard\n"),
    );
    server.listen(where);
    await once(server, "listening");
    undo.defer(() => new Promise<void>((resolve) => server.close(() => resolve())));
    return server;
  };
  const tcp = await listen({ host: "127.0.0.1", port: 0 });
  await listen({ path: `\0${name}` });
  const descriptor = openSync(folder, constants.O_DIRECTORY);
  undo.defer(() => closeSync(descriptor));
  await listen({ path: `/proc/self/fd/${descriptor}/${name}` }); // the name of a socket is shorter than a path may be
  chmodSync(join(folder, name), 0o666); // the mounts alone keep it out of reach
  const udp = createSocket("udp4", (_message, sender) => udp.send("heard\n", sender.port, sender.address));
  udp.bind(0, "127.0.0.1");
  await once(udp, "listening");
  undo.defer(() => new Promise<void>((resolve) => udp.close(resolve)));
  const held = undo.move();
  return {
    tcpPort: portOf(tcp),
    udpPort: udp.address().port,
    abstractName: name,
    socketPath: join(folder, name),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port");
  return address.port;
}
