import { characterSet, isIn, type Runs } from "./character-runs.ts";

const label = characterSet("A-Z0-9 ");
const base64 = characterSet("A-Za-z0-9+/=");
/** What stands between the lines of a key, also where code, JSON or a comment holds it: quotes, escapes, commas. */
const between = characterSet(" \t\r\n\\\"'`,#*>|");
const leastLine = 20;
/** Beyond the largest key. */
const longestKey = 16_000;

/**
 * A private key in PEM (RFC 7468) or OpenPGP's armour with some of its material, also where its end is cut off. The line
 * `-----BEGIN ... PRIVATE KEY-----` alone, as programs that read keys have it, is none.
 */
export function measurePrivateKey(
  { text, end }: Runs,
  at: number,
  after: number,
  onSecret: (from: number, to: number) => void,
): void {
  const labelEnd = end(label, after);
  const isPrivate = labelEnd - after < 64 && /PRIVATE KEY( BLOCK)?$/.test(text.slice(after, labelEnd));
  if (!isPrivate || !text.startsWith("-----", labelEnd)) return;
  const to = endOfMaterial({ text, end }, labelEnd + 5, Math.min(text.length, at + longestKey));
  if (to > 0) onSecret(at, endOfMark(text, to));
}

/** Behind the last line of key material; 0 where the first word is none. Escapes and joins are words of one or two letters. */
function endOfMaterial({ text, end }: Runs, start: number, beyond: number): number {
  let to = 0;
  for (let from = start; from < beyond; ) {
    if (!isIn(base64, text, from)) {
      if (!isIn(between, text, from)) break;
      from += 1;
      continue;
    }
    const wordEnd = Math.min(end(base64, from), beyond);
    const headerEnd = endOfHeader(text, from, wordEnd);
    const isLine = headerEnd === null && (isMaterial(text.slice(from, wordEnd)) || isLastLine(text, to, wordEnd));
    if (isLine) to = wordEnd;
    else if (headerEnd === null && wordEnd - from > 2) break;
    from = headerEnd ?? wordEnd;
  }
  return to;
}

const isLastLine = (text: string, to: number, wordEnd: number): boolean => to > 0 && endOfMark(text, wordEnd) > wordEnd;

/** `n` of an escaped line feed may stand before it. */
const isMaterial = (line: string): boolean =>
  line.length >= leastLine && /[A-Z]/.test(line) && /[a-z]/.test(line) && /[0-9+/]/.test(line);

/** `Proc-Type:` and `DEK-Info:` of an encrypted key (RFC 1421); null where the word is none of them. */
function endOfHeader(text: string, from: number, wordEnd: number): number | null {
  if (text[wordEnd] !== "-" || wordEnd - from > 12) return null;
  const [header] = /^(Type|Info): [A-Za-z0-9, -]{1,100}/.exec(text.slice(wordEnd + 1, wordEnd + 120)) ?? [];
  return header === undefined ? null : wordEnd + 1 + header.length;
}

/** With the `-----END ... PRIVATE KEY-----` that follows within a few characters. */
function endOfMark(text: string, to: number): number {
  const [mark] = /^[\s\\rn"'`,;+.:()]{0,64}-----END [A-Z0-9 ]{1,40}-----/.exec(text.slice(to, to + 160)) ?? [];
  return to + (mark?.length ?? 0);
}
