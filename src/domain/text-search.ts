/** Told which of the texts was found and where it begins. Places come in ascending order and may overlap. */
export type OnFound = (number: number, at: number) => void;

/** Finds each of its texts that begins in `[from, limit)`. */
export type TextSearch = (text: string, from: number, limit: number, onFound: OnFound) => void;

const tableSize = 1 << 16;

type Hash = (text: string, last: number) => number;
const ofTwo: Hash = (text, last) => ((text.charCodeAt(last - 1) << 8) ^ text.charCodeAt(last)) & (tableSize - 1);
const ofThree: Hash = (text, last) =>
  ((text.charCodeAt(last - 2) << 10) ^ (text.charCodeAt(last - 1) << 5) ^ text.charCodeAt(last)) & (tableSize - 1);

/**
 * Looks for many fixed texts at once: by the last characters of a window it knows how far the window may be moved where they
 * stand in the beginning of none (Wu and Manber, "A fast algorithm for multi-pattern searching", 1994), so that most of a
 * text is never looked at. Each text has at least `window` characters, and `window` at least 3. Linear for texts that are no
 * repetition of themselves: a prefix is short, a secret is random.
 */
export function createTextSearch(texts: readonly string[], window: number): TextSearch {
  if (texts.length === 0) return () => undefined;
  const isShort = window < 8; // the longer the window, the more of its ends there are to tell apart
  const hash = isShort ? ofTwo : ofThree;
  const blockLength = isShort ? 2 : 3;
  const shifts = new Uint8Array(tableSize).fill(window - blockLength + 1);
  const numbersByEnd = new Map<number, number[]>();
  for (const [number, text] of texts.entries()) {
    for (let last = blockLength - 1; last < window; last += 1) {
      const block = hash(text, last);
      shifts[block] = Math.min(shifts[block] ?? 0, window - 1 - last);
    }
    const end = hash(text, window - 1);
    numbersByEnd.set(end, [...(numbersByEnd.get(end) ?? []), number]);
  }
  return (text, from, limit, onFound) => {
    const beyond = Math.min(text.length, limit + window - 1);
    for (let last = from + window - 1; last < beyond; ) {
      const block = hash(text, last);
      const shift = shifts[block] ?? 0;
      if (shift > 0) {
        last += shift;
        continue;
      }
      const at = last - window + 1;
      for (const number of numbersByEnd.get(block) ?? []) {
        if (text.startsWith(texts[number] ?? "", at)) onFound(number, at);
      }
      last += 1;
    }
  };
}
