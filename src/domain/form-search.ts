import { leastSecretLength } from "./secret-forms.ts";

/** Told of each place, in the order of the places' ends or beginnings; places may overlap. */
export type OnFound = (from: number, to: number) => void;

/** Finds each form that begins in `[from, limit)`. */
export type FormSearch = (text: string, from: number, limit: number, onFound: OnFound) => void;

const window = leastSecretLength;
const blockLength = 3;
const tableSize = 1 << 16;

const blockHash = (text: string, last: number): number =>
  ((text.charCodeAt(last - 2) << 10) ^ (text.charCodeAt(last - 1) << 5) ^ text.charCodeAt(last)) & (tableSize - 1);

/**
 * Looks for many fixed texts at once, by the last three characters of a window and how far the window may be moved when they
 * stand in no form's beginning (Wu and Manber, "A fast algorithm for multi-pattern searching", 1994): most characters of a text
 * are never looked at. Linear in the text for forms that are no repetition of themselves; a secret is random.
 */
export function createFormSearch(forms: readonly string[]): FormSearch {
  if (forms.length === 0) return () => undefined;
  const shifts = new Uint8Array(tableSize).fill(window - blockLength + 1);
  const formsByBlock = new Map<number, string[]>();
  for (const form of forms) {
    for (let last = blockLength - 1; last < window; last += 1) {
      const hash = blockHash(form, last);
      shifts[hash] = Math.min(shifts[hash] ?? 0, window - 1 - last);
    }
    const ending = blockHash(form, window - 1);
    formsByBlock.set(ending, [...(formsByBlock.get(ending) ?? []), form]);
  }
  return (text, from, limit, onFound) => {
    const beyond = Math.min(text.length, limit + window - 1);
    let last = from + window - 1;
    while (last < beyond) {
      const shift = shifts[blockHash(text, last)] ?? 1;
      if (shift === 0) matchAt(formsByBlock, text, last, onFound);
      last += Math.max(1, shift);
    }
  };
}

function matchAt(
  formsByBlock: ReadonlyMap<number, readonly string[]>,
  text: string,
  last: number,
  onFound: OnFound,
): void {
  const start = last - window + 1;
  for (const form of formsByBlock.get(blockHash(text, last)) ?? []) {
    if (text.startsWith(form, start)) onFound(start, start + form.length);
  }
}
