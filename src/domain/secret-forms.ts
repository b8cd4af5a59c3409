/**
 * A shorter value is not looked for: it would take ordinary words out of every text. No form is shorter either.
 */
export const leastSecretLength = 12;

/** Of a secret of several lines, the lines that are secret by themselves: of a PEM key all but its first and last. */
const isSecretLine = (line: string): boolean => line.length >= 24 && !line.startsWith("-----");

/**
 * All forms in which a secret is looked for (SEC-100): as it is, escaped as in JSON, base64 and base64url at each alignment,
 * hex, URL-encoded and reversed. A value of several lines counts as one (SEC-102); each of its lines does so too, since a
 * part of a key is a secret. Empty for a value that is too short.
 */
export function formsOf(secret: string): readonly string[] {
  const value = secret.trim();
  const lines = value.split(/\r?\n/);
  const values = lines.length === 1 ? lines : [value, ...lines.filter(isSecretLine)];
  const forms = values.filter(({ length }) => length >= leastSecretLength).flatMap(encodingsOf);
  return [...new Set(forms)].filter(({ length }) => length >= leastSecretLength);
}

function encodingsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  const hex = bytes.toString("hex");
  const urlEncoded = encodeURIComponent(value.toWellFormed());
  const json = inJson(value);
  return [
    value,
    json,
    inJson(json), // JSON within JSON: a call's arguments in a line of a log
    ...alignments.flatMap((offset) => [aligned(bytes, "base64", offset), aligned(bytes, "base64url", offset)]),
    ...wrappedWidths.map((width) => wrapped(aligned(bytes, "base64", 0), width)),
    hex,
    hex.toUpperCase(),
    urlEncoded,
    urlEncoded.replaceAll(/%[0-9A-F]{2}/g, (escaped) => escaped.toLowerCase()),
    Array.from(value).reverse().join(""),
  ];
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

const alignments = [0, 1, 2] as const;
/** Of `base64` and of OpenSSL, whose output is the encoding from the secret's first byte on. */
const wrappedWidths = [76, 64] as const;

/** The characters of the encoding that hold nothing but the secret where `offset` bytes (modulo 3) stand before it. */
function aligned(bytes: Buffer, encoding: "base64" | "base64url", offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString(encoding);
  const bitsOf = (count: number): number => count * 8;
  return text.slice(Math.ceil(bitsOf(offset) / 6), Math.floor(bitsOf(offset + bytes.length) / 6));
}

function wrapped(text: string, width: number): string {
  const lines: string[] = [];
  for (let at = 0; at < text.length; at += width) lines.push(text.slice(at, at + width));
  return lines.join("\n");
}
