import { type CharacterSet, characterSet, createRuns, isIn, type Runs } from "./character-runs.ts";
import { isLiteralSecret, isPlaceholder } from "./literal-value.ts";
import { measurePrivateKey } from "./private-key-shape.ts";
import { createTextSearch } from "./text-search.ts";

/** Told of a secret's place in the text. */
export type OnSecret = (from: number, to: number) => void;

/** A value-shaped pattern of SEC-101: what it begins with, and how what follows is measured. */
type Shape = {
  readonly rule: string;
  readonly anchors: readonly string[];
  /**
   * `at` is where the anchor begins, `after` where it ends. Runs end `longestShape` characters behind `at` at the latest.
   * Looks back at most `shapeLookBehind` characters, and at each character a bounded number of times, whatever the text is.
   */
  readonly measure: (runs: Runs, at: number, after: number, onSecret: OnSecret) => void;
};

/** Room for the PEM of an RSA key of 16,384 bits. What is longer is no token of anybody's; its rest is left. */
export const longestShape = 16_384;
/** How far before its anchor a shape may find a secret. */
export const shapeLookBehind = 256;

const alphanumeric = characterSet("A-Za-z0-9");
const upper = characterSet("A-Z0-9");
const word = characterSet("A-Za-z0-9_");
const urlSafe = characterSet("A-Za-z0-9_-");
const dotted = characterSet("A-Za-z0-9._-");
const base64 = characterSet("A-Za-z0-9+/");
const headerValue = characterSet("A-Za-z0-9._~+/=-");
const userInfo = characterSet("!#-&*+,.0-9:;=A-Z_a-z|~^-");
const quotes = characterSet("\"'`");
const blanks = characterSet(" \t");

type Token = {
  readonly rule: string;
  readonly anchors: readonly string[];
  readonly set: CharacterSet;
  /** Characters behind the anchor. */
  readonly least: number;
  /** More are something else; absent: any number. */
  readonly most?: number;
  /** Whether it is a token also in the middle of a word. */
  readonly isAnywhere?: true;
  /** What else must hold of the characters behind the anchor. */
  readonly holds?: (value: string) => boolean;
};

/** A token: an issuer's prefix and so many characters of one set. */
function token({ rule, anchors, set, least, most, isAnywhere, holds }: Token): Shape {
  return {
    rule,
    anchors,
    measure: (runs, at, after, onSecret) => {
      if (isAnywhere !== true && at > 0 && isIn(alphanumeric, runs.text, at - 1)) return;
      const to = runs.end(set, after);
      if (to - after < least || (most !== undefined && to - after > most)) return;
      if (holds === undefined || holds(runs.text.slice(after, to))) onSecret(at, to);
    },
  };
}

const hasDigit = (value: string): boolean => /[0-9]/.test(value);

const shapes: readonly Shape[] = [
  token({
    rule: "github-token",
    anchors: ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
    set: dotted,
    least: 36,
    isAnywhere: true,
  }),
  token({ rule: "github-fine-grained-token", anchors: ["github_pat_"], set: word, least: 22, isAnywhere: true }),
  token({ rule: "npm-token", anchors: ["npm_"], set: alphanumeric, least: 36, isAnywhere: true }),
  token({ rule: "anthropic-key", anchors: ["sk-ant-"], set: urlSafe, least: 80, holds: hasDigit }),
  token({ rule: "openai-key", anchors: ["sk-"], set: alphanumeric, least: 48, holds: hasDigit }),
  token({
    rule: "openai-key",
    anchors: ["sk-proj-", "sk-svcacct-", "sk-admin-"],
    set: urlSafe,
    least: 40,
    holds: hasDigit,
  }),
  token({
    rule: "slack-token",
    anchors: ["xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"],
    set: characterSet("A-Za-z0-9-"),
    least: 24,
    holds: (value) => /^[0-9]/.test(value),
    isAnywhere: true,
  }),
  token({ rule: "google-key", anchors: ["AIza"], set: urlSafe, least: 35, most: 35, isAnywhere: true }),
  token({ rule: "gitlab-token", anchors: ["glpat-"], set: dotted, least: 20, holds: hasDigit, isAnywhere: true }),
  { rule: "json-web-token", anchors: ["eyJ"], measure: measureJwt },
  { rule: "private-key", anchors: ["-----BEGIN "], measure: measurePrivateKey },
  { rule: "aws-key", anchors: ["AKIA", "ASIA"], measure: measureAwsKey },
  { rule: "npm-auth-token", anchors: ["_authToken"], measure: measureAuthToken },
  { rule: "url-password", anchors: ["://"], measure: measureUrlPassword },
  {
    rule: "authorization-header",
    anchors: ["Authorization", "authorization", "AUTHORIZATION"],
    measure: measureAuthorization,
  },
];

/** Three parts, or two whose second is JSON too; the header's and the payload's JSON begin with `{"`, which is `eyJ`. */
function measureJwt({ text, end }: Runs, at: number, after: number, onSecret: OnSecret): void {
  const leastPart = 8;
  if (at > 0 && isIn(urlSafe, text, at - 1) && !isEscape(text, at - 1)) return;
  const header = end(urlSafe, after);
  if (header - after < leastPart || text[header] !== ".") return;
  const payload = end(urlSafe, header + 1);
  if (payload - header <= leastPart) return;
  const signature = text[payload] === "." ? end(urlSafe, payload + 1) : payload;
  const isSigned = signature - payload > leastPart;
  if (!isSigned && !text.startsWith("eyJ", header + 1)) return;
  onSecret(at, isSigned ? signature : payload);
}

/** `\n` and the like within a text of code, whose letter is none of the token's. */
const isEscape = (text: string, at: number): boolean => text[at - 1] === "\\" && "nrt".includes(text[at] ?? " ");

/** An access key id, and whatever near it has the form of its secret; the id of AWS' own documents is none. */
function measureAwsKey(runs: Runs, at: number, after: number, onSecret: OnSecret): void {
  const { text, end } = runs;
  const idEnd = end(upper, after);
  const isWhole = !(at > 0 && isIn(word, text, at - 1)) && !isIn(word, text, idEnd);
  if (idEnd - after !== 16 || !isWhole || isPlaceholder(text.slice(at, idEnd))) return;
  onSecret(at, idEnd);
  const first = Math.max(0, at - shapeLookBehind);
  for (let from = first; from < Math.min(text.length, idEnd + shapeLookBehind); ) {
    if (!isIn(base64, text, from)) {
      from += 1;
      continue;
    }
    const to = end(base64, from);
    // A run that begins where the look begins may have begun before.
    if ((from > first || from === 0) && to - from === 40 && isAwsSecret(text.slice(from, to))) onSecret(from, to);
    from = to;
  }
}

/** A SHA-1 in hex has 40 characters too. */
const isAwsSecret = (value: string): boolean => /[a-z]/.test(value) && /[A-Z]/.test(value) && /[0-9]/.test(value);

function measureAuthToken({ text, end }: Runs, _at: number, after: number, onSecret: OnSecret): void {
  const equals = end(blanks, after);
  if (text[equals] !== "=") return;
  const from = end(quotes, end(blanks, equals + 1));
  const to = end(headerValue, from);
  if (isLiteralSecret(text.slice(from, to), 16)) onSecret(from, to);
}

function measureUrlPassword({ text, end }: Runs, _at: number, after: number, onSecret: OnSecret): void {
  const to = end(userInfo, after);
  if (text[to] !== "@") return;
  const colon = text.slice(after, to).indexOf(":");
  const from = after + colon + 1;
  if (colon > 0 && isLiteralSecret(text.slice(from, to), 12)) onSecret(from, to);
}

const schemes = new Set(["basic", "bearer", "token", "apikey", "negotiate"]);

/** `Authorization: Bearer …`, also quoted as in code and JSON. Without a known scheme the value must not look like a name. */
function measureAuthorization({ text, end }: Runs, _at: number, after: number, onSecret: OnSecret): void {
  const colon = end(blanks, end(quotes, after));
  if (!":=,".includes(text[colon] ?? " ")) return;
  const start = end(quotes, end(blanks, colon + 1));
  const schemeEnd = end(alphanumeric, start);
  const isScheme =
    text[schemeEnd] === " " && schemeEnd - start < 12 && schemes.has(text.slice(start, schemeEnd).toLowerCase());
  const from = isScheme ? end(blanks, schemeEnd) : start;
  const to = end(headerValue, from);
  const value = text.slice(from, to);
  const looksRandom = isScheme || (value.slice(0, 64).match(/[0-9]/g) ?? []).length >= 4;
  if (looksRandom && isLiteralSecret(value, 16)) onSecret(from, to);
}

const allAnchors = shapes.flatMap((shape) => shape.anchors.map((anchor) => ({ anchor, shape })));
const searchAnchors = createTextSearch(
  allAnchors.map(({ anchor }) => anchor),
  Math.min(...allAnchors.map(({ anchor }) => anchor.length)),
);

/** Finds each secret by its shape whose anchor begins in `[from, limit)`. Places may overlap and come in any order. */
export function searchShapes(
  text: string,
  from: number,
  limit: number,
  onFound: (rule: string, from: number, to: number) => void,
): void {
  const runs = createRuns(text);
  searchAnchors(text, from, limit, (number, at) => {
    const found = allAnchors[number];
    if (found === undefined) return;
    const { anchor, shape } = found;
    const beyond = at + longestShape - 1;
    const bounded: Runs = { text, end: (set, start) => Math.min(runs.end(set, start), beyond) };
    shape.measure(bounded, at, at + anchor.length, (begin, end) => onFound(shape.rule, begin, end));
  });
}

/** Whether a value of one line, such as a variable's, holds what has a secret's shape. */
export function hasSecretShape(value: string): boolean {
  let isFound = false;
  searchShapes(value, 0, value.length, () => {
    isFound = true;
  });
  return isFound;
}
