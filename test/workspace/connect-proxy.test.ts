import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openConnectProxy } from "../../src/workspace/connect-proxy.ts";
import type { ProxyLimits, ProxyRules, Reach } from "../../src/workspace/proxy-rules.ts";

/** Answers each connection with what it says, in capitals. */
let echo: Server;
let root: string;
let folder: string;
const sockets: Socket[] = [];

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "countersign-proxy-"));
  folder = join(root, "x".repeat(120));
  mkdirSync(folder);
  symlinkSync(folder, join(root, "short"));
  echo = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk) => socket.write(chunk.toString().toUpperCase()));
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

/** What a refused client is told. */
async function refusal(text: string): Promise<string> {
  const answer = await heard(await client(text));
  return `${answer.slice(9, 12)} ${answer.split("\r\n\r\n")[1]?.trim()}`;
}

describe("setup's proxy (SEC-67)", () => {
  it("leads a listed host on to the address that it checked, and carries bytes both ways", async () => {
    await using proxy = await openProxy();

    const socket = await client(`${asking("good.example")}hello`);
    socket.end();
    const answer = await heard(socket);

    expect(answer).toBe("HTTP/1.1 200 Connection established\r\n\r\nHELLOBYE");
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

    const socket = await client(asking("second.example"));
    await once(socket, "data");

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

  it("lets the operator's internal host lie in its range, and no other host", async () => {
    const internal = { host: "private.example", range: "10.20.0.0/16" };
    await using proxy = await openProxy({ internal });

    await once(await client(asking("private.example")), "data");

    expect(dialed).toEqual(["10.20.0.1:443"]);
    expect(await refusal(asking("mapped.example"))).toBe("403 not_public");
    expect(proxy.asked()).toHaveLength(2);
  });

  it("cuts everything once all connections together have carried their share", async () => {
    await using proxy = await openProxy({ limits: { ...limits, bytes: 1_000 } });
    const small = await client(asking("good.example"));
    await once(small, "data");
    const large = await client(`${asking("good.example")}${"x".repeat(5_000)}`);

    const answer = await heard(large);

    expect(answer.length).toBeLessThan(5_000);
    expect(proxy.asked()).toContainEqual({ host: "good.example", outcome: "bytes_limit", count: 1 });
    small.write("one more");
    await heard(small);
  });

  it("turns away one connection more than it takes at once", async () => {
    await using proxy = await openProxy({ limits: { ...limits, connections: 2 } });
    await once(await client(asking("good.example")), "data");
    await once(await client(asking("good.example")), "data");

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

    expect(await heard(await client(asking("good.example")))).toContain("200 Connection established");
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
    await once(await client(asking("good.example")), "data");
  });

  it("is its owner's alone, cuts what is open when it closes, and leaves no socket behind", async () => {
    const proxy = await openProxy();
    const socket = await client(asking("good.example"));
    await once(socket, "data");
    const mode = statSync(join(folder, "proxy")).mode & 0o777;

    await Promise.all([heard(socket), proxy[Symbol.asyncDispose]()]);

    expect(mode).toBe(0o600);
    expect(existsSync(join(folder, "proxy"))).toBe(false);
  });
});
