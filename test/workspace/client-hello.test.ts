import { createSecureContext, type SecureContext } from "node:tls";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { asksForSecondHello, ClientHelloReader, type HelloProgress } from "../../src/workspace/client-hello.ts";
import { aCertificate } from "../support/certificate.ts";
import {
  clientHello,
  helloRetryRequest,
  inRecords,
  nameHeardByServer,
  serverNameExtension,
  withExtensions,
} from "../support/client-hellos.ts";

const host = "registry.test";
/** As clients of several kinds say it. */
let hellos: readonly Buffer[];
let hello: Buffer;
let secureContext: SecureContext;

beforeAll(async () => {
  hellos = await Promise.all([
    clientHello(host),
    clientHello(host, { maxVersion: "TLSv1.2" }),
    clientHello(host, { minVersion: "TLSv1.3", ALPNProtocols: ["h2", "http/1.1"], ecdhCurve: "P-256" }),
  ]);
  hello = hellos[0] ?? Buffer.alloc(0);
  const { certificate, key } = aCertificate(host);
  secureContext = createSecureContext({ cert: certificate, key });
});

function read(bytes: Uint8Array, which: "first" | "second" = "first"): HelloProgress {
  return new ClientHelloReader(which).take(bytes);
}
const message = (of: Buffer = hello): Buffer => of.subarray(5);
const whole = (of: Buffer): HelloProgress => ({ kind: "whole", serverName: host, used: of.length });
const size = fc.integer({ min: 1, max: 700 });

describe("the hello of a TLS client (SEC-67)", () => {
  it("names its host, whichever client says it", () => {
    for (const one of hellos) expect(read(one)).toEqual(whole(one));
  });

  it("is read in whatever records it comes, to its last byte and no further", () => {
    fc.assert(
      fc.property(
        fc.nat(2),
        fc.array(size, { minLength: 1, maxLength: 8 }),
        fc.uint8Array({ maxLength: 20 }),
        (which, sizes, rest) => {
          const bytes = inRecords(
            message(hellos[which]),
            sizes.map((one) => Math.max(one, 8)),
          );

          expect(read(Buffer.concat([bytes, rest]))).toEqual(whole(bytes));
        },
      ),
    );
  });

  it("is read in whatever segments it comes", () => {
    fc.assert(
      fc.property(fc.nat(2), size, size, (which, recordBytes, segmentBytes) => {
        const bytes = inRecords(message(hellos[which]), [Math.max(recordBytes, 8)]);
        const reader = new ClientHelloReader("first");
        const progress: HelloProgress[] = [];
        for (let at = 0; at < bytes.length; at += segmentBytes)
          progress.push(reader.take(bytes.subarray(at, at + segmentBytes)));

        expect(progress.slice(0, -1).every(({ kind }) => kind === "more")).toBe(true);
        expect(progress.at(-1)).toMatchObject({ kind: "whole", serverName: host });
      }),
    );
  });

  it.each([
    ["no name", () => withExtensions(hello, (all) => all.filter(([type]) => type !== 0)), "no_server_name"],
    ["two names", () => withName(serverNameExtension(host, "other.test")), "hello_malformed"],
    [
      "two lists of names",
      () => withExtensions(hello, (all) => [...all, serverNameExtension(host)]),
      "hello_malformed",
    ],
    ["an empty list", () => withName([0, Buffer.from([0, 0])]), "hello_malformed"],
    ["an empty name", () => withName(serverNameExtension("")), "hello_malformed"],
    ["a name with a NUL", () => withName(serverNameExtension(`${host}\0.other.test`)), "hello_malformed"],
    ["a name of another kind", () => withName([0, Buffer.from([0, 4, 1, 0, 1, 0x61])]), "hello_malformed"],
    ["an encrypted hello", () => withFurther(0xfe0d), "encrypted_hello"],
    ["an encrypted hello of a draft", () => withFurther(0xfe0a), "encrypted_hello"],
    ["an encrypted server name", () => withFurther(0xffce), "encrypted_hello"],
    ["bytes after its extensions", () => lengthened(), "hello_malformed"],
    ["more than 16 KiB", () => withExtensions(hello, (all) => [...all, [21, Buffer.alloc(17_000)]]), "hello_too_large"],
    ["another message", () => Buffer.from(message()).fill(2, 0, 1), "hello_malformed"],
  ])("is refused with %s", (_what, make, cause) => {
    const bytes = inRecords(make(), [16_384]);

    expect(read(bytes)).toEqual({ kind: "refused", cause });
  });

  it("is refused in empty records, in more of them than bytes are allowed, and with a further message beside it", () => {
    const empty = Buffer.concat([Buffer.from([22, 3, 1, 0, 0]), hello]);
    const long = withExtensions(hello, (all) => [...all, [21, Buffer.alloc(12_000)]]);
    const two = inRecords(Buffer.concat([message(), message()]), [16_384]);

    expect([empty, inRecords(long, [1]), two].map((bytes) => read(bytes))).toEqual([
      { kind: "refused", cause: "hello_malformed" },
      { kind: "refused", cause: "hello_too_large" },
      { kind: "refused", cause: "hello_malformed" },
    ]);
  });

  it("is told from all that is no TLS by its first bytes", () => {
    for (const bytes of ["GET / HTTP/1.1\r\n", "SSH-2.0-x\r\n", "\x80\x2e\x01\x03\x01", "\x16\x04\x01", "\x17\x03\x03"])
      expect(read(Buffer.from(bytes, "latin1"))).toEqual({ kind: "refused", cause: "not_tls" });
  });

  it("may stand behind early data and a ChangeCipherSpec where it is the second one", () => {
    const before = Buffer.from([20, 3, 3, 0, 1, 1, 23, 3, 3, 0, 2, 9, 9]);

    expect(read(Buffer.concat([before, hello]), "second")).toMatchObject({ kind: "whole", serverName: host });
    expect(read(Buffer.concat([before, hello]))).toEqual({ kind: "refused", cause: "not_tls" });
  });

  it("with any bytes changed is refused, or names what a TLS server hears in it", async () => {
    const change = fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), to: fc.nat(255) });
    await fc.assert(
      fc.asyncProperty(fc.nat(2), fc.array(change, { minLength: 1, maxLength: 3 }), async (which, changes) => {
        const bytes = Buffer.from(hellos[which] ?? hello);
        for (const { at, to } of changes) bytes[Math.min(bytes.length - 1, Math.floor(at * bytes.length))] = to;
        const progress = read(bytes);
        const heard = (await nameHeardByServer(bytes, secureContext))?.toLowerCase() ?? null;

        expect(progress.kind === "refused" || heard === null || "serverName" in progress).toBe(true);
        expect([null, "serverName" in progress ? progress.serverName : heard]).toContain(heard);
      }),
    );
  });
});

it("a server's wish for a second hello is told by its first bytes, and not before they are there", () => {
  const retry = helloRetryRequest();

  expect(asksForSecondHello(retry)).toBe(true);
  expect(asksForSecondHello(retry.subarray(0, 42))).toBe(null);
  expect(asksForSecondHello(Buffer.from(retry).fill(0, 20, 21))).toBe(false);
  expect(asksForSecondHello(inRecords(retry.subarray(5), [20]))).toBe(true);
  expect(asksForSecondHello(Buffer.from([21, 3, 3, 0, 2, 2, 40]))).toBe(false);
});

type Extension = ReturnType<typeof serverNameExtension>;
const withName = (extension: Extension): Buffer =>
  withExtensions(hello, (all) => [extension, ...all.filter(([type]) => type !== 0)]);
const withFurther = (type: number): Buffer => withExtensions(hello, (all) => [...all, [type, Buffer.from([0, 1, 2])]]);
/** A byte more, of which the message's own length knows. */
function lengthened(): Buffer {
  const longer = Buffer.concat([message(), Buffer.from([0])]);
  longer.writeUIntBE(longer.length - 4, 1, 3);
  return longer;
}
