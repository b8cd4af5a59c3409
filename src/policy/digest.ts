import { createHash } from "node:crypto";

/** SHA-256 in lower-case hex. */
export const sha256 = (data: string | Uint8Array): string => createHash("sha256").update(data).digest("hex");

/** SHA-256 over names and texts, sorted by name; lengths stand before both, so that no two lists give the same bytes. */
export function digestOfTexts(texts: ReadonlyMap<string, string>): string {
  const hash = createHash("sha256");
  for (const name of [...texts.keys()].sort()) {
    for (const part of [name, texts.get(name) ?? ""]) {
      const bytes = Buffer.from(part, "utf8");
      hash.update(`${bytes.length}:`).update(bytes);
    }
  }
  return hash.digest("hex");
}
