import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { Secret } from "../../src/domain/index.ts";
import { isSigned } from "../../src/intake/signature.ts";

const secrets = [new Secret("s".repeat(32)), new Secret("t".repeat(32))];
const bytes = Buffer.from('{"action":"labeled"}');
const digest = (secret: string, algorithm = "sha256") => createHmac(algorithm, secret).update(bytes).digest("hex");
const good = `sha256=${digest("s".repeat(32))}`;

describe("a signature (SEC-110)", () => {
  it("holds under the current secret and under the one before", () => {
    expect(isSigned(secrets, [good], bytes)).toBe(true);
    expect(isSigned(secrets, [`sha256=${digest("t".repeat(32))}`], bytes)).toBe(true);
  });

  it("of GitHub's documented example holds", () => {
    const secret = new Secret("It's a Secret to Everybody");
    const header = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    expect(isSigned([secret], [header], Buffer.from("Hello, World!"))).toBe(true);
  });

  it.each([
    ["is missing", []],
    ["is empty", [""]],
    ["is sent twice", [good, good]],
    ["is joined with another", [`${good}, ${good}`]],
    ["is of another secret", [`sha256=${digest("u".repeat(32))}`]],
    ["is SHA-1", [`sha1=${digest("s".repeat(32), "sha1")}`]],
    ["is SHA-1 under the other name", [`sha256=${digest("s".repeat(32), "sha1")}`]],
    ["is in capitals", [good.toUpperCase()]],
    ["has a space more", [`${good} `]],
    ["is short by a digit", [good.slice(0, -1)]],
    ["has no name", [digest("s".repeat(32))]],
  ])("that %s does not hold", (_case, headers) => {
    expect(isSigned(secrets, headers, bytes)).toBe(false);
  });

  it("does not hold once any byte has changed", () => {
    for (let at = 0; at < bytes.byteLength; at += 1) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);

      expect(isSigned(secrets, [good], changed)).toBe(false);
    }
  });
});
