import { generateKeyPairSync, randomBytes } from "node:crypto";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/** Random letters and digits, of each kind at least one. */
export const letters = (length: number): string =>
  `aB3${Array.from(randomBytes(length - 3), (byte) => alphabet[byte % alphabet.length]).join("")}`;
const capitals = (length: number): string => Array.from(randomBytes(length), (byte) => alphabet[byte % 26]).join("");
const digits = (length: number): string => Array.from(randomBytes(length), (byte) => String(byte % 10)).join("");
const json = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

export const plantedJwt = (): string =>
  `${json({ alg: "RS256", typ: "JWT" })}.${json({ iss: digits(6), exp: 1_900_000_000 })}.${randomBytes(256).toString("base64url")}`;

export const plantedPem = (): string =>
  generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
  }).privateKey;

/**
 * Secrets of each kind of SEC-101, new at each call and put together from parts, so that the repository itself holds none
 * (SEC-103). By the rule that finds them.
 */
export const plantedSecrets = (): readonly (readonly [rule: string, text: string])[] => [
  ["github-token", `gh${"p"}_${letters(36)}`],
  ["github-token", `gh${"s"}_${digits(7)}_${plantedJwt()}`],
  ["github-token", `gh${"o"}_${letters(40)}`],
  ["github-fine-grained-token", `github${"_pat"}_${letters(22)}_${letters(59)}`],
  ["npm-token", `npm${"_"}${letters(36)}`],
  ["anthropic-key", `sk-${"ant"}-api03-${letters(93)}AA`],
  ["openai-key", `sk${"-"}${letters(20)}T3BlbkFJ${letters(20)}`],
  ["openai-key", `sk-${"proj"}-${letters(74)}T3BlbkFJ${letters(74)}`],
  ["slack-token", `xox${"b"}-${digits(12)}-${digits(12)}-${letters(24)}`],
  ["google-key", `AI${"za"}${letters(35)}`],
  ["gitlab-token", `gl${"pat"}-${letters(20)}`],
  ["json-web-token", plantedJwt()],
  ["json-web-token", plantedJwt().split(".").slice(0, 2).join(".")],
  ["private-key", plantedPem()],
  ["private-key", plantedPem().slice(0, 400)],
  ["private-key", JSON.stringify(plantedPem().trimEnd()).slice(1, -1)],
  ["aws-key", `AK${"IA"}${capitals(16)}`],
];
