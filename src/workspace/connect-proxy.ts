import { closeSync, constants, openSync } from "node:fs";
import { chmod, chown } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { CountersignError } from "../domain/index.ts";
import { type AskedHost, createAskedHosts } from "./asked-hosts.ts";
import { refuse, serveConnection, track } from "./connect-tunnel.ts";
import type { Owner } from "./host.ts";
import type { ProxyRules, Reach } from "./proxy-rules.ts";
import { networkFiles } from "./setup-bridge.ts";

export type ConnectProxy = AsyncDisposable & {
  /** Every host asked for so far, led on or not (SEC-67). */
  readonly asked: () => readonly AskedHost[];
};

/**
 * The host's end of setup's network: `CONNECT host:443` for listed hosts and nothing else, on a unix socket in `folder` that
 * `owner` may use (SEC-66, SEC-67). A name is resolved once, every address that it leads to is checked, and a checked address is
 * dialed. Rejects where the socket can't be made. Disposing cuts what is open and removes the socket.
 */
export async function openConnectProxy(
  reach: Reach,
  rules: ProxyRules,
  place: { readonly folder: string; readonly owner: Owner },
): Promise<ConnectProxy> {
  const asked = createAskedHosts();
  const closing = new AbortController();
  const clients = new Set<Socket>();
  const shared = { open: new Set<Socket>(), budget: { bytes: rules.limits.bytes }, asked, closed: closing.signal };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    client.setTimeout(rules.limits.idleMs, () => client.destroy());
    track(shared.open, client);
    if (clients.size >= rules.limits.connections) return refuse({ ...shared, client }, null, "too_many");
    track(clients, client);
    serveConnection(reach, rules, { ...shared, client }).catch(() => client.destroy());
  });
  server.maxConnections = rules.limits.connections + toBeTurnedAway; // further ones are closed unheard
  server.on("error", () => {}); // one connection that could not be accepted ends no setup, and no service
  const release = await listen(server, place);
  return {
    asked: asked.list,
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      for (const socket of shared.open) socket.destroy();
      await release();
    },
  };
}

/** How many at once, beyond those that are served, are told that they are too many. */
const toBeTurnedAway = 16;

/**
 * Listens by way of the folder's descriptor, since a socket's path has at most 107 bytes (unix(7)) and a home may have more. The
 * descriptor stays open as long as the socket: at its end it is removed by the same path.
 */
async function listen(server: Server, { folder, owner }: { readonly folder: string; readonly owner: Owner }) {
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  const release = async (): Promise<void> => {
    await new Promise<void>((resolve) => server.close(() => resolve()));
    closeSync(descriptor);
  };
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(`/proc/self/fd/${descriptor}/${networkFiles.socket}`, () => resolve());
    });
    const path = join(folder, networkFiles.socket);
    await chmod(path, 0o600);
    if (owner !== null) await chown(path, owner.uid, owner.gid);
    return release;
  } catch (cause) {
    await release();
    // biome-ignore lint/style/useErrorCause: it is passed, with the options of our own class
    throw new CountersignError("SANDBOX_FAILED", "the socket of setup's network could not be made", { cause });
  }
}
