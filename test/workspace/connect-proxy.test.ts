import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openConnectProxy } from "../../src/workspace/connect-proxy.ts";
import type { ProxyLimits, ProxyRules, Reach } from "../../src/workspace/proxy-rules.ts";
import {
  clientHello,
  helloRetryRequest,
  inRecords,
  serverNameExtension,
  withExtensions,
} from "../support/client-hellos.ts";

/** Answers each connection with what it says, in capitals; or first with `firstAnswer`, where there is one. */
let echo: Server;
let firstAnswer: Buffer | null = null;
/** All that the echo has heard. */
let reached: Buffer[] = [];
let root: string;
let folder: string;
const sockets: Socket[] = [];

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "countersign-proxy-"));
  folder = join(root, "x".repeat(120));
  mkdirSync(folder);
  symlinkSync(folder, join(root, "short"));
  [firstAnswer, reached] = [null, []];
  echo = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk) => {
      reached.push(chunk);
      socket.write(firstAnswer ?? chunk.toString().toUpperCase());
      firstAnswer = null;
    });
    socket.on("end", () => socket.end("BYE"));
  });
  echo.listen(0, "127.0.0.1");
  await once(echo, "listening");
});

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  echo.close();
  rmSync(root, { recursive: true, force: true });
});

const limits: ProxyLimits = { connections: 8, bytes: 1_000_000, answerMs: 60_000, idleMs: 60_000 };
const dialed: string[] = [];

/** Names of a test, each resolved once; every address leads to the echo. */
function reachOf(known: Readonly<Record<string, readonly string[] | "never">>): Reach {
  const { port } = echo.address() as AddressInfo;
  dialed.length = 0;
  return {
    resolve: (host) => {
      const found = known[host] ?? [];
      return found === "never" ? new Promise(() => {}) : Promise.resolve(found);
    },
    dial: async (address, wanted) => {
      dialed.push(`${address}:${wanted}`);
      if (address === "198.41.0.1") throw new Error("nobody there");
      const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
      await once(socket, "connect");
      return socket;
    },
    ownAddresses: () => ["93.184.1.1"],
  };
}

const names = {
  "good.example": ["93.184.0.1"],
  "second.example": ["198.41.0.1", "93.184.0.2"],
  "mixed.example": ["93.184.0.1", "127.0.0.1"],
  "loopback.example": ["127.0.0.1"],
  "metadata.example": ["169.254.169.254"],
  "mapped.example": ["::ffff:10.0.0.1"],
  "private.example": ["10.20.0.1"],
  "own.example": ["93.184.1.1"],
  "down.example": ["198.41.0.1"],
  "unlisted.example": ["93.184.0.1"],
} as const;
const listed = new Set([...Object.keys(names), "slow.example", "nowhere.example"]);
listed.delete("unlisted.example");

async function openProxy(rules: Partial<ProxyRules> = {}, reach = reachOf({ ...names, "slow.example": "never" })) {
  const place = { folder, owner: null };
  return await openConnectProxy(reach, { hosts: listed, internal: null, limits, ...rules }, place);
}

/** A client that has said this much; it goes in by a link, since the folder's own path is longer than a socket's can be. */
async function client(text: string | Uint8Array): Promise<Socket> {
  const socket = connect(join(root, "short", "proxy"));
  sockets.push(socket);
  socket.on("error", () => socket.destroy());
  await once(socket, "connect");
  socket.write(text);
  return socket;
}

/** All that is said to it until the end. */
async function heard(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
  });
  await once(socket, "close");
  return text;
}

const asking = (host: string): string => `CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}:443\r\n\r\n`;

/** By host; made once. */
const hellos = new Map<string, Buffer>();
beforeAll(async () => {
  for (const host of listed) hellos.set(host, await clientHello(host));
});
const helloOf = (host: string): Buffer => hellos.get(host) ?? Buffer.alloc(0);
const opening = (host: string, hello = helloOf(host)): Buffer => Buffer.concat([Buffer.from(asking(host)), hello]);

const established = "HTTP/1.1 200 Connection established\r\n\r\n";

/** Until the host behind the proxy has said something. */
async function answered(socket: Socket): Promise<void> {
  for (let bytes = 0; bytes <= established.length; ) bytes += (await once(socket, "data"))[0].length;
}

/** What a refused client is told. */
async function refusal(text: string): Promise<string> {
  const answer = await heard(await client(text));
  return `${answer.slice(9, 12)} ${answer.split("\r\n\r\n")[1]?.trim()}`;
}

describe("setup's proxy (SEC-67)", () => {
  it("leads a listed host on to the address that it checked, and carries bytes both ways", async () => {
    await using proxy = await openProxy();

    const socket = await client(Buffer.concat([opening("good.example"), Buffer.from("hello")]));
    socket.end();
    const answer = await heard(socket);

    expect(answer.startsWith(established)).toBe(true);
    expect(answer.endsWith("HELLOBYE")).toBe(true);
    expect(Buffer.concat(reached)).toEqual(Buffer.concat([helloOf("good.example"), Buffer.from("hello")]));
    expect(dialed).toEqual(["93.184.0.1:443"]);
    expect(proxy.asked()).toEqual([{ host: "good.example", outcome: "led_on", count: 1 }]);
  });

  it.each([
    ["unlisted.example", "403 not_listed"],
    ["loopback.example", "403 not_public"],
    ["metadata.example", "403 not_public"],
    ["mapped.example", "403 not_public"],
    ["private.example", "403 not_public"],
    ["own.example", "403 own_address"],
    ["mixed.example", "403 not_public"],
    ["nowhere.example", "502 not_resolved"],
    ["down.example", "504 not_reached"],
  ])("refuses %s with %s and records that it was asked for", async (host, told) => {
    await using proxy = await openProxy();

    expect(await refusal(asking(host))).toBe(told);
    expect(proxy.asked()).toEqual([{ host, outcome: told.slice(4), count: 1 }]);
    expect(dialed).toEqual(host === "down.example" ? ["198.41.0.1:443"] : []);
  });

  it("takes the next checked address where nobody answers at the first", async () => {
    await using proxy = await openProxy();

    await answered(await client(opening("second.example")));

    expect(dialed).toEqual(["198.41.0.1:443", "93.184.0.2:443"]);
    expect(proxy.asked()).toMatchObject([{ outcome: "led_on" }]);
  });

  it.each([
    ["plain HTTP", "GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n", "405 not_connect"],
    ["another port", "CONNECT good.example:80 HTTP/1.1\r\n\r\n", "403 not_port_443"],
    ["an address", "CONNECT 93.184.0.1:443 HTTP/1.1\r\n\r\n", "403 ip_literal"],
    ["an address of IPv6", "CONNECT [::1]:443 HTTP/1.1\r\n\r\n", "403 ip_literal"],
    ["TLS", "\x16\x03\x01\x02\x00\r\n\r\n", "400 malformed"],
    ["a head that does not end", `CONNECT good.example:443 HTTP/1.1\r\nX: ${"y".repeat(9_000)}`, "400 malformed"],
  ])("refuses %s", async (_what, text, told) => {
    await using proxy = await openProxy();

    expect(await refusal(text)).toBe(told);
    expect(dialed).toEqual([]);
    expect(proxy.asked()).toHaveLength(1);
  });

  it("dials for nobody where the machine's own addresses can't be told", async () => {
    const reach = reachOf(names);
    const ownAddresses = (): never => {
      throw new Error("EMFILE: too many open files");
    };
    await using proxy = await openProxy({}, { ...reach, ownAddresses });

    expect(await refusal(asking("good.example"))).toBe("504 not_reached");
    expect(dialed).toEqual([]);
    expect(proxy.asked()).toEqual([{ host: "good.example", outcome: "not_reached", count: 1 }]);
  });

  it("lets the operator's internal host lie in its range, and no other host", async () => {
    const internal = { host: "private.example", range: "10.20.0.0/16" };
    await using proxy = await openProxy({ internal });

    await answered(await client(opening("private.example")));

    expect(dialed).toEqual(["10.20.0.1:443"]);
    expect(await refusal(asking("mapped.example"))).toBe("403 not_public");
    expect(proxy.asked()).toHaveLength(2);
  });

  it("cuts everything once all connections together have carried their share", async () => {
    await using proxy = await openProxy({ limits: { ...limits, bytes: 20_000 } });
    const small = await client(opening("good.example"));
    await answered(small);
    const large = await client(Buffer.concat([opening("good.example"), Buffer.alloc(50_000, "x")]));

    const answer = await heard(large);

    expect(answer.length).toBeLessThan(50_000);
    expect(proxy.asked()).toContainEqual({ host: "good.example", outcome: "bytes_limit", count: 1 });
    small.write("one more");
    await heard(small);
  });

  it("turns away one connection more than it takes at once", async () => {
    await using proxy = await openProxy({ limits: { ...limits, connections: 2 } });
    await answered(await client(opening("good.example")));
    await answered(await client(opening("good.example")));

    expect(await refusal(asking("good.example"))).toBe("503 too_many");

    expect(proxy.asked()).toContainEqual({ host: null, outcome: "too_many", count: 1 });
  });

  it("gives up a client that says too little, and a name that is never resolved", async () => {
    await using proxy = await openProxy({ limits: { ...limits, answerMs: 50 } });

    expect(await refusal("CONNECT good.exam")).toBe("400 malformed");
    expect(await refusal(asking("slow.example"))).toBe("502 not_resolved");
    expect(proxy.asked()).toHaveLength(2);
  });

  it("cuts a connection on which nothing is said any more", async () => {
    await using _proxy = await openProxy({ limits: { ...limits, idleMs: 50 } });

    expect(await heard(await client(opening("good.example")))).toContain("200 Connection established");
  });

  it("keeps a hundred names of those that were asked for, and counts the rest", async () => {
    await using proxy = await openProxy();

    for (let number = 0; number < 105; number++) await refusal(asking(`h${number}.example`));

    const asked = proxy.asked();
    expect(asked).toHaveLength(101);
    expect(asked.at(-1)).toEqual({ host: null, outcome: "not_listed", count: 5 });
  });

  it("stays up whatever bytes come, and dials for none of them", async () => {
    await using proxy = await openProxy();

    for (let round = 0; round < 30; round++) {
      const socket = await client(randomBytes(1 + (round % 7) * 700));
      socket.end();
      await heard(socket);
    }

    expect(dialed).toEqual([]);
    expect(proxy.asked()).toMatchObject([{ host: null, outcome: "malformed" }]);
    await answered(await client(opening("good.example")));
  });

  it("is its owner's alone, cuts what is open when it closes, and leaves no socket behind", async () => {
    const proxy = await openProxy();
    const socket = await client(opening("good.example"));
    await answered(socket);
    const mode = statSync(join(folder, "proxy")).mode & 0o777;

    await Promise.all([heard(socket), proxy[Symbol.asyncDispose]()]);

    expect(mode).toBe(0o600);
    expect(existsSync(join(folder, "proxy"))).toBe(false);
  });
});

describe("a listed host whose TLS names another (SEC-67)", () => {
  const other = "second.example";
  const host = "good.example";
  const altered = (change: Parameters<typeof withExtensions>[1]): Buffer =>
    inRecords(withExtensions(helloOf(host), change), [16_384]);

  it.each([
    ["other_server_name", () => helloOf(other)],
    ["no_server_name", () => altered((all) => all.filter(([type]) => type !== 0))],
    ["hello_malformed", () => altered((all) => [...all, serverNameExtension(other)])],
    ["encrypted_hello", () => altered((all) => [...all, [0xfe0d, Buffer.alloc(40)]])],
    ["hello_too_large", () => altered((all) => [...all, [21, Buffer.alloc(17_000)]])],
    ["not_tls", () => Buffer.from(`GET / HTTP/1.1\r\nHost: ${other}\r\n\r\n`)],
  ])("is cut and counted as %s before a byte of it reaches the host", async (outcome, make) => {
    await using proxy = await openProxy();

    const answer = await heard(await client(opening(host, make())));

    expect(answer).toBe(established);
    expect(proxy.asked()).toEqual([{ host, outcome, count: 1 }]);
    expect(Buffer.concat(reached)).toHaveLength(0);
  });

  it("is led on where it names the host in other letters, in many records and segments", async () => {
    await using proxy = await openProxy();
    const bytes = inRecords(
      withExtensions(helloOf(host), (all) => [
        serverNameExtension("Good.EXAMPLE"),
        ...all.filter(([type]) => type !== 0),
      ]),
      [3, 50],
    );
    const socket = await client(opening(host, bytes.subarray(0, 10)));
    await once(socket, "data");
    for (let at = 10; at < bytes.length; at += 100) socket.write(bytes.subarray(at, at + 100));
    await once(socket, "data");

    expect(Buffer.concat(reached)).toEqual(bytes);
    expect(proxy.asked()).toEqual([{ host, outcome: "led_on", count: 1 }]);
  });

  it.each([
    ["says no whole hello in time", 50, false],
    ["says no whole hello before it ends", 60_000, true],
  ])("is cut and counted where it %s", async (_what, answerMs, ends) => {
    await using proxy = await openProxy({ limits: { ...limits, answerMs } });
    const socket = await client(opening(host, helloOf(host).subarray(0, 100)));
    if (ends) socket.end();

    expect(await heard(socket)).toBe(established);
    expect(proxy.asked()).toEqual([{ host, outcome: "no_hello", count: 1 }]);
    expect(reached).toEqual([]);
  });

  it.each([
    [host, "led_on"],
    [other, "other_server_name"],
  ])("is asked for its name again in a second hello: %s is %s", async (named, outcome) => {
    firstAnswer = helloRetryRequest();
    await using proxy = await openProxy();
    const changeCipherSpec = Buffer.from([20, 3, 3, 0, 1, 1]);
    const second = Buffer.concat([changeCipherSpec, helloOf(named)]);

    const socket = await client(Buffer.concat([opening(host), second]));
    const closed = heard(socket);
    if (outcome === "led_on") {
      await answered(socket);
      socket.end();
    }
    await closed;

    expect(proxy.asked()).toEqual([{ host, outcome, count: 1 }]);
    expect(Buffer.concat(reached)).toEqual(Buffer.concat([helloOf(host), ...(outcome === "led_on" ? [second] : [])]));
  });
});
