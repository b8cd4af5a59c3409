/** Why a connection's first words were not led on: each is a rule's name in the record, and none holds a text of the asker's. */
export type HelloRefusal =
  | "no_hello"
  | "not_tls"
  | "hello_malformed"
  | "hello_too_large"
  | "no_server_name"
  | "other_server_name"
  | "encrypted_hello";

/** What is known of a hello so far. `used`: how many bytes of the last chunk belong to it; `serverName` is lower-case. */
export type HelloProgress =
  | { readonly kind: "more" }
  | { readonly kind: "whole"; readonly serverName: string; readonly used: number }
  | { readonly kind: "refused"; readonly cause: HelloRefusal };

const more: HelloProgress = { kind: "more" };
const refused = (cause: HelloRefusal): HelloProgress => ({ kind: "refused", cause });

/** RFC 8446 section 5.1. */
const recordTypes = { changeCipherSpec: 20, handshake: 22, applicationData: 23 } as const;
const recordHeaderBytes = 5;
const recordBytesAtMost = 2 ** 14;
/** RFC 8446 section 4. */
const clientHelloType = 1;
const messageHeaderBytes = 4;
/** Hellos of today's clients have 200 to 2,000 bytes; with the ticket of a session, some thousand more. */
const helloBytesAtMost = 16 * 1024;
/** With the headers of all its records, and what may stand before a second hello. */
const rawBytesAtMost = 2 * helloBytesAtMost;

/** Reads the one message that a TLS client begins with, in whatever pieces it comes: segments of TCP and records of TLS. */
export class ClientHelloReader {
  readonly #mayComeBefore: ReadonlySet<number>;
  readonly #header = Buffer.alloc(recordHeaderBytes);
  #headerBytes = 0;
  /** Of the record that is being read. */
  #bytesLeft = 0;
  readonly #message = Buffer.alloc(messageHeaderBytes + helloBytesAtMost);
  #messageBytes = 0;
  #rawBytes = 0;

  /** `second`: after the server's HelloRetryRequest, when early data and a ChangeCipherSpec may stand before it. */
  constructor(which: "first" | "second") {
    this.#mayComeBefore = new Set(which === "first" ? [] : [recordTypes.changeCipherSpec, recordTypes.applicationData]);
  }

  /** Takes the next bytes. Every byte is looked at once, however small the pieces are. */
  take(chunk: Uint8Array): HelloProgress {
    for (let at = 0; at < chunk.length; ) {
      const isInHeader = this.#headerBytes < recordHeaderBytes;
      const wanted = isInHeader ? recordHeaderBytes - this.#headerBytes : this.#bytesLeft;
      const piece = chunk.subarray(at, at + wanted);
      at += piece.length;
      this.#rawBytes += piece.length;
      if (this.#rawBytes > rawBytesAtMost) return refused("hello_too_large");
      const cause = isInHeader ? this.#takeHeader(piece) : this.#takeContent(piece);
      if (cause !== null) return refused(cause);
      const isRecordWhole = this.#headerBytes === recordHeaderBytes && this.#bytesLeft === 0;
      if (!isRecordWhole) continue;
      if (this.#isWhole()) return readServerName(this.#message.subarray(messageHeaderBytes, this.#messageBytes), at);
      this.#headerBytes = 0;
    }
    return more;
  }

  #takeHeader(piece: Uint8Array): HelloRefusal | null {
    this.#header.set(piece, this.#headerBytes);
    this.#headerBytes += piece.length;
    const [type = 0, major = 3, minor = 1] = this.#header.subarray(0, this.#headerBytes);
    const isExpected = type === recordTypes.handshake || (this.#messageBytes === 0 && this.#mayComeBefore.has(type));
    if (!isExpected || major !== 3 || minor > 4) return "not_tls";
    if (this.#headerBytes < recordHeaderBytes) return null;
    this.#bytesLeft = this.#header.readUInt16BE(3);
    return this.#bytesLeft === 0 || this.#bytesLeft > recordBytesAtMost ? "hello_malformed" : null;
  }

  #takeContent(piece: Uint8Array): HelloRefusal | null {
    this.#bytesLeft -= piece.length;
    if (this.#header[0] !== recordTypes.handshake) return null;
    if (this.#messageBytes + piece.length > this.#message.length) return "hello_too_large";
    this.#message.set(piece, this.#messageBytes);
    this.#messageBytes += piece.length;
    if (this.#message[0] !== clientHelloType) return "hello_malformed";
    const length = this.#messageLength();
    if (length === null) return null;
    if (length > this.#message.length) return "hello_too_large";
    // a further message in the hello's own record would be led on unseen
    return this.#messageBytes > length ? "hello_malformed" : null;
  }

  #messageLength(): number | null {
    return this.#messageBytes < messageHeaderBytes ? null : messageHeaderBytes + this.#message.readUIntBE(1, 3);
  }

  #isWhole(): boolean {
    return this.#messageBytes === this.#messageLength();
  }
}

/** RFC 6066 section 3. */
const serverNameExtension = 0;
const hostNameType = 0;
/** Encrypted hellos: RFC 9849, its drafts, and the encrypted server name before them. They name a host that nobody else can read. */
const encryptedHelloExtensions: ReadonlySet<number> = new Set([
  ...[0xfe0d, 0xfe0c, 0xfe0b, 0xfe0a, 0xfe09, 0xfe08],
  ...[0xfd00, 0xffce],
]);

/** Reads a ClientHello's body (RFC 8446 section 4.1.2): each length must fit, each extension stand once. */
function readServerName(body: Buffer, used: number): HelloProgress {
  const hello = new Cursor(body);
  hello.skip(2 + 32); // version, random
  for (const lengthBytes of [1, 2, 1]) hello.vector(lengthBytes); // session, cipher suites, compression
  if (hello.isAtEnd()) return refused("no_server_name"); // it may end before the extensions
  const extensions = new Cursor(hello.vector(2));
  const seen = new Map<number, Buffer>();
  while (!extensions.isAtEnd() && !extensions.isBroken) {
    const type = extensions.number(2);
    if (seen.has(type)) return refused("hello_malformed");
    seen.set(type, extensions.vector(2));
  }
  if (extensions.isBroken || hello.isBroken || !hello.isAtEnd()) return refused("hello_malformed");
  if ([...seen.keys()].some((type) => encryptedHelloExtensions.has(type))) return refused("encrypted_hello");
  const names = seen.get(serverNameExtension);
  if (names === undefined) return refused("no_server_name");
  const serverName = oneHostName(names);
  return serverName === null ? refused("hello_malformed") : { kind: "whole", serverName, used };
}

/** The list must have one entry, and that must be a host's name in visible ASCII. */
function oneHostName(extension: Buffer): string | null {
  const whole = new Cursor(extension);
  const list = new Cursor(whole.vector(2));
  const type = list.number(1);
  const name = list.vector(2).toString("latin1");
  const isOne = type === hostNameType && list.isAtEnd() && whole.isAtEnd() && !list.isBroken && !whole.isBroken;
  return isOne && /^[\x21-\x7e]+$/.test(name) ? name.toLowerCase() : null;
}

/** Reads forward. What is not there makes it broken; from then on it gives nothing. */
class Cursor {
  readonly #bytes: Buffer;
  #at = 0;
  isBroken = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  skip(count: number): Buffer {
    if (this.isBroken || this.#at + count > this.#bytes.length) {
      this.isBroken = true;
      return Buffer.alloc(0);
    }
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }

  number(lengthBytes: number): number {
    const bytes = this.skip(lengthBytes);
    return this.isBroken ? 0 : bytes.readUIntBE(0, lengthBytes);
  }

  /** A length, and as many bytes. */
  vector(lengthBytes: number): Buffer {
    return this.skip(this.number(lengthBytes));
  }
}

/** The random of a HelloRetryRequest, SHA-256 of that word (RFC 8446 section 4.1.3): the client says its hello once more. */
const retryRandom = Buffer.from("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c", "hex");
const serverHelloType = 2;
const randomAt = recordHeaderBytes + messageHeaderBytes + 2;

/** Whether a server's first bytes ask for a second hello, or may do so; null where there are too few to tell. */
export function asksForSecondHello(said: Buffer): boolean | null {
  if (said.length < 1) return null;
  if (said[0] !== recordTypes.handshake) return false;
  if (said.length <= recordHeaderBytes) return null;
  if (said[recordHeaderBytes] !== serverHelloType) return false;
  if (said.readUInt16BE(3) < randomAt - recordHeaderBytes + retryRandom.length) return true; // in pieces: not to be told
  if (said.length < randomAt + retryRandom.length) return null;
  return said.subarray(randomAt, randomAt + retryRandom.length).equals(retryRandom);
}
