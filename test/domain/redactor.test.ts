import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor, liveSecretRule, type Redactor, redactedMark, Secret } from "../../src/domain/index.ts";
import { letters, plantedPem, plantedSecrets } from "../support/planted-secrets.ts";

const live = randomBytes(24).toString("base64url");
const redactor = createRedactor([new Secret(live)]);
const shapesAlone = createRedactor([]);

const base64At = (offset: number, value: string, encoding: "base64" | "base64url"): string =>
  Buffer.from(`${"~".repeat(offset)}${value}~~~`).toString(encoding);

/** What an attacker may turn a secret into, by name. */
const disguises: Readonly<Record<string, (value: string) => string>> = {
  "as it is": (value) => value,
  "base64, first alignment": (value) => base64At(0, value, "base64"),
  "base64, second alignment": (value) => base64At(1, value, "base64"),
  "base64, third alignment": (value) => base64At(2, value, "base64"),
  "base64url, second alignment": (value) => base64At(4, value, "base64url"),
  "hex in lower case": (value) => Buffer.from(value).toString("hex"),
  "hex in upper case": (value) => Buffer.from(value).toString("hex").toUpperCase(),
  "URL-encoded": (value) => encodeURIComponent(value),
  reversed: (value) => Array.from(value).reverse().join(""),
  "within JSON": (value) => JSON.stringify(value).slice(1, -1),
  "within JSON within JSON": (value) => JSON.stringify(JSON.stringify(value)).slice(3, -3),
  "base64 in lines": (value) => Buffer.from(value).toString("base64").replaceAll(/.{76}/g, "$&\n"),
};

/** The bytes of the secret that can still be read off: the longest piece of it in any form. */
function remains(text: string, disguised: string): boolean {
  const piece = 10;
  for (let at = 4; at + piece < disguised.length - 8; at += 1) {
    if (text.includes(disguised.slice(at, at + piece))) return true;
  }
  return false;
}

describe("a live secret (SEC-100)", () => {
  it.each(Object.keys(disguises))("is taken out of every text, %s", (name) => {
    const awkward = `p+/=ä "${letters(20)}" &?\\${letters(8)}`;
    for (const value of [live, awkward, `gh${"s"}_1_${letters(500)}`, plantedPem()]) {
      const known = createRedactor([new Secret(value)]);
      const disguised = disguises[name]?.(value) ?? "";
      const text = `before ${disguised} after`;

      expect(known.redactExact(text)).toContain(redactedMark);
      expect(remains(known.redactExact(text), disguised.trim())).toBe(false);
      expect(known.redact(text)).toMatch(/^before [\s\S]* after$/);
    }
  });

  it("of several lines counts as one value, and each of its lines by itself (SEC-102)", () => {
    const pem = plantedPem();
    const known = createRedactor([new Secret(pem)]);

    expect(known.redactExact(`a\n${pem}b`)).toBe(`a\n${redactedMark}\nb`);
    const [, second = "", third = ""] = pem.split("\n");
    expect(known.redactExact(`  > ${second}\n  > ${third}`)).toBe(`  > ${redactedMark}\n  > ${redactedMark}`);
  });

  it("that becomes live later is known from then on, and of those the newest", () => {
    const known = createRedactor([]);
    const tokens = Array.from({ length: 600 }, () => letters(40));
    for (const token of tokens) known.learn(new Secret(token));

    expect(known.redactExact(`${tokens[0]} ${tokens[599]}`)).toBe(`${tokens[0]} ${redactedMark}`);
  });

  it("that is too short to be one takes no word out of a text", () => {
    expect(createRedactor([new Secret("postgres")]).redact("postgres at postgres")).toBe("postgres at postgres");
  });
});

describe("a value with a secret's shape (SEC-101)", () => {
  it.each(plantedSecrets())("is taken out: %s", (rule, secret) => {
    for (const [before, after] of [
      ["", ""],
      ["token: ", " and so on"],
      ['{"a":"', '"}'],
      ["x\n", "\ny"],
      ["(", ")"],
    ]) {
      const text = `${before}${secret}${after}`;
      const trimmed = secret.trimEnd();

      expect(shapesAlone.find(text).map((found) => found.rule)).toContain(rule);
      expect(shapesAlone.redact(text)).toBe(text.replace(trimmed, redactedMark));
    }
  });

  it("is a literal one behind `_authToken=`, in an address and in a header", () => {
    const value = letters(32);
    for (const [rule, text] of [
      ["npm-auth-token", `//registry.example.org/:_authToken=${value}`],
      ["url-password", `postgres://ann:${value}@db.example.org/x`],
      ["authorization-header", `Authorization: Bearer ${value}`],
      ["authorization-header", `"authorization": "Basic ${value}=="`],
      ["authorization-header", `headers.set('Authorization', 'token ${value}')`],
    ] as const) {
      expect([text, shapesAlone.find(text).map((found) => found.rule)]).toEqual([text, [rule]]);
      expect(shapesAlone.redact(text)).not.toContain(value);
    }
  });

  it("is the secret of an AWS key near its id, and no hash of a commit", () => {
    const id = `AK${"IA"}${"QRST".repeat(4)}`;
    const secret = `${letters(20)}/${letters(19)}`;
    const sha = "0123456789abcdef0123456789abcdef01234567";

    expect(shapesAlone.redact(`id = ${id}\nsecret = ${secret}\n${sha}`)).toBe(
      `id = ${redactedMark}\nsecret = ${redactedMark}\n${sha}`,
    );
    expect(shapesAlone.redact(`secret = ${secret}\nid = ${id}`)).toBe(`secret = ${redactedMark}\nid = ${redactedMark}`);
    expect(shapesAlone.redact(`secret = ${secret}`)).toContain(secret);
  });

  it.each([
    "const token = author.keyboard; const password = readPassword();",
    "//registry.example.org/:_authToken=${NPM_TOKEN}",
    "https://user:password@example.org and https://${user}:${password}@example.org",
    "fetch(url, { headers: { Authorization: `Bearer ${token}` } })",
    "{ authorization: requestAuthorizationHeaderValueOfTheClient }",
    'if (pem.startsWith("-----BEGIN RSA PRIVATE KEY-----")) return createPrivateKeyFromPkcs8(pem);',
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
    `AKIA${"IOSFODNN7EXAMPLE"}`,
    "the task-0123456789012345678901234567890123456789012345678901 of a disk-drive",
    "xoxb-not-a-real-token-this-will-not-work",
    "npm_config_registry npm_lifecycle_event npm_package_json",
    "sha512-0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCDEFab==",
    "eyJhbGciOiJIUzI1NiJ9 alone, and the word keyJoin.lists.everything",
  ])("is not one of %j", (text) => {
    expect(shapesAlone.find(text)).toEqual([]);
  });

  it("stays in a prompt, since edits must match what the model was shown (SEC-16)", () => {
    for (const [, secret] of plantedSecrets()) expect(redactor.redactExact(secret)).toBe(secret);
  });
});

/** Texts of pieces that a search may stumble over: beginnings without ends, secrets side by side, long runs. */
const pieces = [
  ...plantedSecrets().flatMap(([, secret]) => [secret, secret.slice(0, 12)]),
  ...Object.values(disguises).map((disguise) => disguise(live)),
  live.slice(0, -1),
  "-----BEGIN RSA PRIVATE KEY-----",
  "://ann:",
  "@",
  "eyJ",
  ".",
  " ",
  "\n",
  "\\n",
  "ä",
  "/",
  "a".repeat(300),
  "b7".repeat(9000),
  " ".repeat(500),
];
const texts = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(""));

function streamed(whole: Redactor, text: string, cuts: readonly number[]): string {
  const stream = whole.stream();
  const places = [...cuts.map((cut) => cut % (text.length + 1)), text.length].sort((a, b) => a - b);
  let at = 0;
  const parts = places.map((place) => {
    const written = stream.write(text.slice(at, place));
    at = place;
    return written;
  });
  return parts.join("") + stream.end();
}

describe("a stream (SEC-102)", () => {
  it("gives in any pieces what the whole gives", () => {
    fc.assert(
      fc.property(texts, fc.array(fc.nat(), { maxLength: 30 }), (text, cuts) => {
        expect(streamed(redactor, text, cuts)).toBe(redactor.redact(text));
      }),
      { numRuns: 200 },
    );
  });

  it("knows a long secret whole, wherever it stands between the ends of the pieces", () => {
    const pem = plantedPem();
    const cuts = Array.from({ length: 60 }, (_, at) => at * 1_000);
    for (let shift = 0; shift < 12_000; shift += 97) {
      const text = `${"x ".repeat(shift)}${pem}${live}${"y ".repeat(12_000)}`;

      expect(streamed(redactor, text, cuts) === redactor.redact(text), `at ${2 * shift}`).toBe(true);
    }
  });

  it("gives character by character what the whole gives, and writes on the way", () => {
    const secrets = plantedSecrets().map(([, secret]) => secret);
    const text = `${secrets.join("\n")}${"x ".repeat(30_000)}${live}${live} ${secrets.join("")}`;
    const stream = redactor.stream();
    let early = "";
    for (const character of text) early += stream.write(character);

    expect(early.length).toBeGreaterThan(30_000);
    expect(early + stream.end()).toBe(redactor.redact(text));
  });
});

describe("redaction", () => {
  it("changes nothing a second time, and nothing without a secret", () => {
    fc.assert(
      // Side by side, the end of one secret may hide that another begins; where the first is gone, it shows.
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), (parts) => {
        const once = redactor.redact(parts.join(" "));
        expect(redactor.redact(once)).toBe(once);
      }),
      { numRuns: 200 },
    );
    fc.assert(fc.property(fc.string({ unit: "grapheme" }), (text) => redactor.redact(text) === text));
  });

  it("names the place of each secret by its rule", () => {
    const token = `gh${"p"}_${letters(36)}`;
    expect(redactor.find(`a ${live} b ${token}`)).toEqual([
      { rule: liveSecretRule, from: 2, to: 2 + live.length },
      { rule: "github-token", from: 5 + live.length, to: 5 + live.length + token.length },
    ]);
  });

  it.each(["eyJ", "ghp_", "://a:", "-----BEGIN RSA PRIVATE KEY-----\n", `AKIA${"A".repeat(16)} `, "authorization: "])(
    "looks at each character of a text of nothing but %j a bounded number of times",
    (anchor) => {
      // A search that went over the rest from each beginning would take minutes for this.
      const text = anchor.repeat(Math.ceil(500_000 / anchor.length));
      expect(shapesAlone.redact(text).length).toBeGreaterThan(0);
    },
  );
});
