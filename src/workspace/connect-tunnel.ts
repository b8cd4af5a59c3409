import type { Socket } from "node:net";
import type { AskedHosts, AskOutcome } from "./asked-hosts.ts";
import { leadHellos } from "./connect-hello.ts";
import { readConnectRequest } from "./connect-request.ts";
import { addressRefusal } from "./dialable-address.ts";
import type { ProxyRules, Reach } from "./proxy-rules.ts";
import { readStart } from "./read-start.ts";

/** One client of the proxy, and what it shares with the others. */
export type Connection = {
  readonly client: Socket;
  /** Every socket that is open for a client, to be cut at the end. */
  readonly open: Set<Socket>;
  /** What all connections together may still carry. */
  readonly budget: { bytes: number };
  readonly asked: AskedHosts;
  /** Aborted when the proxy closes. */
  readonly closed: AbortSignal;
};

const largestHeadBytes = 8 * 1024;
const endOfHead = "\r\n\r\n";

const statuses: Readonly<Partial<Record<AskOutcome, string>>> = {
  malformed: "400 Bad Request",
  not_connect: "405 Method Not Allowed",
  not_resolved: "502 Bad Gateway",
  not_reached: "504 Gateway Timeout",
  too_many: "503 Service Unavailable",
};

/** Reads one request and leads it on, or says why not. Never rejects: whatever goes wrong ends this connection alone. */
export async function serveConnection(reach: Reach, rules: ProxyRules, connection: Connection): Promise<void> {
  const { client, closed } = connection;
  const signal = AbortSignal.any([closed, AbortSignal.timeout(rules.limits.answerMs)]);
  const head = await readHead(client, signal);
  if (head === null) return refuse(connection, null, "malformed");
  const request = readConnectRequest(head);
  if (request.kind === "refused") return refuse(connection, request.host, request.cause);
  const { host } = request;
  if (!rules.hosts.has(host)) return refuse(connection, host, "not_listed");
  if (connection.budget.bytes < 0) return refuse(connection, host, "bytes_limit");
  const upstream = await reachHost(reach, rules, host, signal);
  if (typeof upstream === "string") return refuse(connection, host, upstream);
  if (client.destroyed || closed.aborted) return void upstream.destroy();
  track(connection.open, upstream);
  upstream.setTimeout(rules.limits.idleMs, () => upstream.destroy());
  client.write("HTTP/1.1 200 Connection established\r\n\r\n");
  const greeted = await leadHellos({ client, upstream, budget: connection.budget }, host, signal);
  connection.asked.note(host, greeted);
  if (greeted === "led_on") return tunnel(connection, host, upstream);
  for (const socket of [client, upstream]) socket.destroy();
}

export function track(open: Set<Socket>, socket: Socket): void {
  open.add(socket);
  socket.on("error", () => socket.destroy());
  socket.on("close", () => open.delete(socket));
}

/** How long one that was turned away may take to hear it. */
const turnedAwayMs = 1_000;

/** Turned away with a status that package managers show, and on record. */
export function refuse({ client, asked }: Connection, host: string | null, outcome: AskOutcome): void {
  asked.note(host, outcome);
  const text = `${outcome}\n`;
  const status = statuses[outcome] ?? "403 Forbidden";
  setTimeout(() => client.destroy(), turnedAwayMs).unref();
  client.resume(); // what else it says is not read: a socket closed over unread bytes would lose the answer
  client.end(
    `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`,
  );
}

/** The head without its end, or null where it is too long or the client said no more in time. What follows stays unread. */
function readHead(client: Socket, signal: AbortSignal): Promise<string | null> {
  let read = Buffer.alloc(0);
  return readStart<string | null>(client, { signal, ended: null }, (chunk) => {
    read = Buffer.concat([read, chunk]);
    const end = read.subarray(0, largestHeadBytes).indexOf(endOfHead);
    if (end !== -1) {
      const restBytes = read.length - end - endOfHead.length;
      return { found: read.subarray(0, end).toString("latin1"), used: chunk.length - restBytes };
    }
    return read.length >= largestHeadBytes ? { found: null, used: chunk.length } : null;
  });
}

/** A connection to the first address that answers, or why there is none. One address that may not be dialed rules out the name. */
async function reachHost(
  reach: Reach,
  rules: ProxyRules,
  host: string,
  signal: AbortSignal,
): Promise<Socket | AskOutcome> {
  const addresses = await beforeAbort(reach.resolve(host), signal).catch(() => []);
  if (addresses.length === 0) return "not_resolved";
  const internal = rules.internal?.host === host ? rules.internal.range : null;
  const own = ownAddressesOf(reach);
  if (own === null) return "not_reached";
  // INVARIANT: what is dialed is an address that was checked, never a name (test/workspace/connect-proxy.test.ts)
  for (const address of addresses) {
    const refusal = addressRefusal(address, { own, internal });
    if (refusal !== null) return refusal;
  }
  for (const address of addresses.slice(0, dialedAtMost)) {
    const socket = await reach.dial(address, 443, signal).catch(() => null);
    if (socket !== null) return socket;
  }
  return "not_reached";
}

const dialedAtMost = 4;

/** Null where the system does not tell: then nothing is dialed. */
function ownAddressesOf(reach: Reach): readonly string[] | null {
  try {
    return reach.ownAddresses();
  } catch {
    return null;
  }
}

/** Rejects when the signal is aborted first; what the promise gives later is lost. */
function beforeAbort<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", abort));
}

/** Bytes both ways until one side is done, the other is cut, or all connections together had their share. */
function tunnel({ client, budget, asked }: Connection, host: string, upstream: Socket): void {
  const count = (chunk: Buffer): void => {
    budget.bytes -= chunk.length;
    if (budget.bytes >= 0) return;
    asked.note(host, "bytes_limit");
    client.destroy();
    upstream.destroy();
  };
  const lead = (from: Socket, to: Socket): void => {
    from.on("data", count).pipe(to);
    from.on("close", () => {
      if (!to.writableEnded) to.destroy(); // else what was said is still on its way
    });
  };
  lead(client, upstream);
  lead(upstream, client);
}
