import { isUtf8 } from "node:buffer";
import type { FileChange } from "../domain/index.ts";

/** A changed file as text, and which of its lines the base does not have. */
export type ChangedText = {
  readonly path: string;
  readonly text: string;
  /** Whether the line with this number, from 1, stands in no place of the file's base. */
  readonly isAdded: (line: number) => boolean;
};

/** Whether git and people would take a content for something else than text (SEC-98). */
export const isBinary = (content: Uint8Array): boolean => content.includes(0) || !isUtf8(content);

/** `base` is the content before; null where the path is new. Bytes that are no UTF-8 are read as far as they go. */
export function changedText({ path, after }: FileChange, base: Uint8Array | null): ChangedText | null {
  if (after === null) return null;
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(after.content);
  const known = new Set(base === null ? [] : linesOf(new TextDecoder("utf-8", { ignoreBOM: true }).decode(base)));
  const lines = linesOf(text);
  return { path, text, isAdded: (line) => !known.has(lines[line - 1] ?? "") };
}

export const linesOf = (text: string): readonly string[] => text.split(/\r?\n/);

/** The number of the line, from 1, that each place is in; places in ascending order. */
export function lineNumbers(text: string, places: readonly number[]): readonly number[] {
  let line = 1;
  let at = 0;
  return places.map((place) => {
    for (let feed = text.indexOf("\n", at); feed !== -1 && feed < place; feed = text.indexOf("\n", at)) {
      line += 1;
      at = feed + 1;
    }
    return line;
  });
}
