import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** A certificate that is its own authority, and its key: both PEM, both made for one test. */
export type TestCertificate = { readonly certificate: string; readonly key: string };

// DER as X.690 has it, by the few types that a certificate needs (RFC 5280 section 4.1).
function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const size = content.length;
  const length = size < 128 ? [size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}
const sequence = (...contents: readonly Uint8Array[]): Buffer => der(0x30, ...contents);
const integer = (...bytes: readonly number[]): Buffer => der(0x02, Buffer.from(bytes));
const objectId = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"));
const utcTime = (ms: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(ms).toISOString().slice(2, 19).replaceAll(/[-:T]/g, "")}Z`));

const commonName = objectId("550403");
const subjectAltName = objectId("551d11");
const ecdsaWithSha256 = sequence(objectId("2a8648ce3d040302"));
const dayMs = 86_400_000;

/** For a server of these names, good from yesterday for a month. */
export function aCertificate(...hosts: readonly string[]): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(der(0x31, sequence(commonName, der(0x0c, Buffer.from("a registry of a test")))));
  const names = sequence(...hosts.map((host) => der(0x82, Buffer.from(host))));
  const body = sequence(
    der(0xa0, integer(2)),
    integer(1, ...randomBytes(8)),
    ecdsaWithSha256,
    name,
    sequence(utcTime(Date.now() - dayMs), utcTime(Date.now() + 30 * dayMs)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(sequence(subjectAltName, der(0x04, names)))),
  );
  const signature = sign("sha256", body, { key: privateKey, dsaEncoding: "der" });
  const whole = sequence(body, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature));
  const lines = whole.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    certificate: ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n"),
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}
