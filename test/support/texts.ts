import { type UntrustedText, untrusted, type WrittenOrigin } from "../../src/agent/index.ts";

export const stranger = { authorId: "7", authorCanWrite: false, host: "github.com" } as const;

/** The visible text of something that a stranger wrote; throws where it is refused. */
export function visibleText(text: string, kind: WrittenOrigin["kind"] = "issue_body"): UntrustedText {
  const read = untrusted(text, { kind, ...stranger });
  if (read.kind === "unreadable") throw new Error(`refused: ${read.cause}`);
  return read;
}
