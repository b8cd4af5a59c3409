import { pick, type Random } from "./seeded.ts";

/** A text that the model's server could send as arguments, made from a sound one. */
type Spoil = (text: string) => string;

/** With something put before the first member. */
const led = (text: string, member: string): string =>
  text === "{}" ? `{${member}}` : text.replace("{", () => `{${member},`);
/** With something at the beginning of the first string value, or as the one member. */
const inValue = (text: string, units: string): string =>
  text.includes(':"') ? text.replace(':"', () => `:"${units}`) : `{"${units}":1}`;
/** The first member of an object, said twice. */
function twice(text: string): string {
  const [first] = Object.entries(JSON.parse(text) as object);
  const member = `${JSON.stringify(first?.[0] ?? "filter")}:${JSON.stringify(first?.[1] ?? "a")}`;
  return first === undefined ? `{${member},${member}}` : led(text, member);
}

const spoils: readonly Spoil[] = [
  twice,
  (text) => twice(text).replace(/[a-z]/, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`), // the same name, spelled otherwise
  (text) => inValue(text, "\\ud800"),
  (text) => inValue(text, "\\ude00\\ud83d"),
  (text) => inValue(text, "\ud83d"),
  (text) => led(text, '"__proto__":{"path":"src/a.ts"}'),
  (text) => led(text, '"sudo":true'),
  (text) => led(text, `"path":${"[".repeat(70)}${"]".repeat(70)}`),
  (text) => led(text, `"edits":${'{"a":'.repeat(2_000)}1${"}".repeat(2_000)}`),
  (text) => led(text, '"line_from":9007199254740993'),
  (text) => led(text, '"line_from":1e400'),
  (text) => led(text, '"line_from":NaN'),
  (text) => text.replace(/}$/, ",}"),
  (text) => `${text}${text}`,
  (text) => `[${text}]`,
  (text) => `\ufeff${text}`,
  (text) => `${text} // as asked`,
  (text) => text.replaceAll('"', "'").replace(/^{}$/, "{'a':1}"),
  (text) => JSON.stringify(text),
  () => "null",
  () => "",
];

/** Sound in every other way, and larger than what is taken. */
const hugeSpoil: Spoil = (text) => `${text}${" ".repeat(1_100_000)}`;

/** No plain JSON object of the tool's schema. */
export const spoiled = (random: Random, text: string): string =>
  random() < 0.01 ? hugeSpoil(text) : pick(random, spoils)(text);

const respellings: readonly Spoil[] = [
  (text) => text,
  (text) => ` \n\t${text}\r\n`,
  (text) => text.replaceAll(/[a-z](?=[^"]*"[,}])/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`),
  (text) => text.replaceAll("/", "\\/"),
  (text) => JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text) as object).reverse())),
];

/** The same value in another spelling that JSON allows. */
export const respelled = (random: Random, text: string): string => pick(random, respellings)(text);
