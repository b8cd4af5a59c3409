import { createHash, hash } from "node:crypto";

/** SHA-256 in lower-case hex. */
export const sha256 = (data: string | Uint8Array): string => hash("sha256", data, "hex");

/** SHA-256 over names and texts, sorted by name; lengths stand before both, so that no two lists give the same bytes. */
export function digestOfTexts(texts: ReadonlyMap<string, string>): string {
  const digest = createHash("sha256");
  for (const name of [...texts.keys()].sort()) {
    for (const part of [name, texts.get(name) ?? ""]) {
      const bytes = Buffer.from(part, "utf8");
      digest.update(`${bytes.length}:`).update(bytes);
    }
  }
  return digest.digest("hex");
}
