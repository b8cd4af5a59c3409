import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  argumentsCommitment,
  argumentsDigest,
  canonicalBytes,
  deriveRunKey,
  fieldCommitment,
  parseStrictJson,
  rawArgumentsDigest,
  rawCommitment,
  resultCommitment,
} from "../../src/domain/index.ts";

type Vector = {
  readonly name: string;
  readonly root_key: string;
  readonly salt: string;
  readonly nonce: string;
  readonly raw: string;
  /** Null: the raw text does not pass the gate. */
  readonly canonical: string | null;
  readonly result: string;
  readonly run_key: string;
  readonly raw_commitment: string;
  readonly arguments_commitment: string | null;
  readonly result_commitment: string;
  readonly arguments_digest: string;
};

const page = readFileSync(new URL("../../docs/digests.md", import.meta.url), "utf8");
const vectors = JSON.parse(/```json\n(.*?)```/s.exec(page)?.[1] ?? "[]") as Vector[];
const hex = (text: string): Uint8Array => Buffer.from(text, "hex");

/** The vector as this code computes it. */
function compute(vector: Vector): Vector {
  const nonce = hex(vector.nonce);
  const raw = Buffer.from(vector.raw);
  const runKey = deriveRunKey(hex(vector.root_key), hex(vector.salt));
  const parsed = parseStrictJson(raw);
  const canonical = parsed.kind === "value" ? canonicalBytes(parsed.value) : null;
  return {
    ...vector,
    canonical: canonical === null ? null : new TextDecoder().decode(canonical),
    run_key: Buffer.from(runKey).toString("hex"),
    raw_commitment: rawCommitment(nonce, raw),
    arguments_commitment: canonical === null ? null : argumentsCommitment(nonce, canonical),
    result_commitment: resultCommitment(nonce, Buffer.from(vector.result)),
    arguments_digest: canonical === null ? rawArgumentsDigest(runKey, raw) : argumentsDigest(runKey, canonical),
  };
}

describe("the published digest vectors (AUD-15, AUD-16)", () => {
  it("are there, one of arguments that did not parse among them", () => {
    expect(vectors.length).toBeGreaterThan(4);
    expect(vectors.filter(({ canonical }) => canonical === null)).not.toEqual([]);
  });

  it.each(vectors)("hold for: $name", (vector) => {
    expect(compute(vector)).toEqual(vector);
  });

  it("are the same when computed in another language from the formulas alone", () => {
    const script = new URL("../fixtures/digest_vectors.py", import.meta.url).pathname;
    const blank = vectors.map((vector) => ({ ...vector, run_key: "", arguments_digest: "", result_commitment: "" }));

    const again = execFileSync("python3", ["-I", script], { input: JSON.stringify(blank), encoding: "utf8" });

    expect(JSON.parse(again)).toEqual(vectors);
  });
});

describe("commitments and digests", () => {
  it("tell equal contents apart by nonce, by run key and by what they are taken over", () => {
    const bytes = fc.uint8Array({ maxLength: 64 });
    const key = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(bytes, key, key, (content, one, other) => {
        fc.pre(Buffer.compare(one, other) !== 0);
        const all = [
          argumentsCommitment(one, content),
          argumentsCommitment(other, content),
          rawCommitment(one, content),
          resultCommitment(one, content),
          fieldCommitment("request", one, content),
          argumentsDigest(one, content),
          argumentsDigest(other, content),
          rawArgumentsDigest(one, content),
          createHmac("sha256", one).update(content).digest("hex"),
        ];

        expect(new Set(all).size).toBe(all.length);
      }),
    );
  });

  it("name the three fields as their own formulas do", () => {
    const nonce = new Uint8Array(32).fill(7);
    const content = Buffer.from("x");

    expect(fieldCommitment("arguments", nonce, content)).toBe(argumentsCommitment(nonce, content));
    expect(fieldCommitment("raw", nonce, content)).toBe(rawCommitment(nonce, content));
    expect(fieldCommitment("result", nonce, content)).toBe(resultCommitment(nonce, content));
    expect(fieldCommitment("constructor", nonce, content)).toMatch(/^sha256-nonce:[0-9a-f]{64}$/);
  });

  it("refuse a nonce that is not 32 bytes", () => {
    expect(() => argumentsCommitment(new Uint8Array(31), new Uint8Array())).toThrow("32 bytes");
  });
});
