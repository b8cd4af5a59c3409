import type { RandomBytes } from "../domain/index.ts";
import type { TextOrigin, UntrustedText } from "./untrusted-text.ts";

/** 128 random bits (SEC-17). */
const delimiterBytes = 16;

/** A delimiter for one block, which the text of the block does not hold. */
export function newDelimiter({ randomBytes }: { readonly randomBytes: RandomBytes }, { text }: UntrustedText): string {
  for (;;) {
    const delimiter = Buffer.from(randomBytes(delimiterBytes)).toString("hex");
    if (!text.includes(delimiter)) return delimiter;
  }
}

// INVARIANT: untrusted text can't end its own block (test/agent/prompt.test.ts)
/** The text between its delimiters, with where it comes from (SEC-11). */
export const dataBlock = ({ text, origin }: UntrustedText, delimiter: string): string =>
  `[${originText(origin)}; begins ${delimiter}]\n${text}\n[ends ${delimiter}]`;

function originText(origin: TextOrigin): string {
  if (!("authorId" in origin)) return origin.kind;
  const author = origin.authorId === null ? "" : `, author ${origin.authorId}`;
  return `${origin.kind}${author}, ${origin.authorCanWrite ? "may" : "may not"} write to the repository`;
}
