export type Piece = { readonly kind: "text" | "reasoning"; readonly text: string };

const opening = "<think>";
const closing = "</think>";

/**
 * Parts thoughts that a server leaves in the text from the answer (ACI-91). Only a `<think>` that opens the answer counts:
 * further on the same letters may be source code.
 */
export function splitThinking(): { push(text: string): readonly Piece[]; end(): readonly Piece[] } {
  let state: "start" | "thinking" | "gap" | "text" = "start";
  let held = "";

  const take = (length: number, kind: Piece["kind"]): Piece => {
    const text = held.slice(0, length);
    held = held.slice(length);
    return { kind, text };
  };
  const begin = (isEnd: boolean): void => {
    const begun = held.trimStart();
    if (!isEnd && begun.length < opening.length && opening.startsWith(begun)) return;
    state = begun.startsWith(opening) ? "thinking" : "text";
    if (state === "thinking") held = begun.slice(opening.length);
  };
  const think = (isEnd: boolean): Piece => {
    const end = held.indexOf(closing);
    if (end < 0) return take(isEnd ? held.length : held.length - partOf(closing, held), "reasoning");
    const thought = take(end, "reasoning");
    held = held.slice(closing.length);
    state = "gap";
    return thought;
  };
  const drain = (isEnd: boolean): readonly Piece[] => {
    if (state === "start") begin(isEnd);
    const pieces = state === "thinking" ? [think(isEnd)] : [];
    if (state === "gap") {
      held = held.trimStart();
      if (held !== "") state = "text";
    }
    if (state === "text") pieces.push(take(held.length, "text"));
    return pieces.filter((piece) => piece.text !== "");
  };

  return {
    push: (text) => {
      held += text;
      return drain(false);
    },
    end: () => drain(true),
  };
}

/** How many characters at the end of `text` may be the beginning of `word`. */
function partOf(word: string, text: string): number {
  for (let length = Math.min(word.length - 1, text.length); length > 0; length -= 1) {
    if (text.endsWith(word.slice(0, length))) return length;
  }
  return 0;
}
