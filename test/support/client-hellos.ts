import { Duplex } from "node:stream";
import { type ConnectionOptions, connect, type SecureContext, TLSSocket } from "node:tls";

/** The first bytes that node:tls says to a server of this name; null: without a name. */
export function clientHello(serverName: string | null, options: ConnectionOptions = {}): Promise<Buffer> {
  return new Promise((resolve) => {
    const wire = new Duplex({
      read: () => {},
      write: (chunk: Buffer, _encoding, done) => {
        resolve(chunk);
        done();
      },
    });
    const client = connect({ ...options, socket: wire, ...(serverName === null ? {} : { servername: serverName }) });
    client.on("error", () => {});
  });
}

/**
 * What a TLS server of node:tls makes of a client's first bytes: the name that it would look up a certificate for, an empty text
 * where it was told none; null where it refuses them or wants more.
 */
export function nameHeardByServer(hello: Uint8Array, secureContext: SecureContext): Promise<string | null> {
  return new Promise((resolve) => {
    let name: string | null = null;
    const wire = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() });
    const server = new TLSSocket(wire, {
      isServer: true,
      secureContext,
      SNICallback: (said, done) => {
        name = said;
        done(null, secureContext);
      },
    });
    for (const end of ["error", "end", "close"]) server.on(end, () => resolve(name));
    server.resume();
    wire.push(hello);
    wire.push(null);
  });
}

/** One message as records that hold so many bytes each; from the last size on all have that. */
export function inRecords(message: Buffer, sizes: readonly number[]): Buffer {
  const records: Buffer[] = [];
  for (let at = 0, turn = 0; at < message.length; turn++) {
    const size = sizes[Math.min(turn, sizes.length - 1)] ?? message.length;
    const content = message.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, content.length >> 8, content.length & 0xff]), content);
    at += size;
  }
  return Buffer.concat(records);
}

type Extension = readonly [type: number, content: Buffer];
const prefixed = (lengthBytes: number, content: Uint8Array): Buffer => {
  const length = Buffer.alloc(lengthBytes);
  length.writeUIntBE(content.length, 0, lengthBytes);
  return Buffer.concat([length, content]);
};

export const serverNameExtension = (...names: readonly string[]): Extension => [
  0,
  prefixed(2, Buffer.concat(names.map((name) => Buffer.concat([Buffer.from([0]), prefixed(2, Buffer.from(name))])))),
];

/** A captured hello's message with other extensions: `change` is given those that it has. */
export function withExtensions(hello: Buffer, change: (extensions: Extension[]) => readonly Extension[]): Buffer {
  const message = hello.subarray(5);
  let at = 4 + 2 + 32;
  at += 1 + message.readUInt8(at);
  at += 2 + message.readUInt16BE(at);
  at += 1 + message.readUInt8(at);
  const extensions: Extension[] = [];
  for (let next = at + 2; next < message.length; ) {
    const length = message.readUInt16BE(next + 2);
    extensions.push([message.readUInt16BE(next), message.subarray(next + 4, next + 4 + length)]);
    next += 4 + length;
  }
  const wanted = change(extensions).map(([type, content]) => {
    const head = Buffer.alloc(2);
    head.writeUInt16BE(type);
    return Buffer.concat([head, prefixed(2, content)]);
  });
  const body = Buffer.concat([message.subarray(4, at), prefixed(2, Buffer.concat(wanted))]);
  return Buffer.concat([Buffer.from([1]), prefixed(3, body)]);
}

/** A server's HelloRetryRequest with nothing in it but what tells that it is one (RFC 8446 section 4.1.4). */
export function helloRetryRequest(): Buffer {
  const random = Buffer.from("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c", "hex");
  const body = Buffer.concat([Buffer.from([3, 3]), random, Buffer.from([0, 0x13, 0x01, 0, 0, 0])]);
  return inRecords(Buffer.concat([Buffer.from([2]), prefixed(3, body)]), [2 ** 14]);
}
