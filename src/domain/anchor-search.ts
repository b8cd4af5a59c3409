/** Told where an anchor was found: its number in the list, and where it begins. */
export type OnAnchor = (anchor: number, at: number) => void;

/** Finds each anchor that begins in `[from, limit)`. */
export type AnchorSearch = (text: string, from: number, limit: number, onAnchor: OnAnchor) => void;

const alphabet = 128;

type Automaton = {
  /** The next state by state and character; characters beyond ASCII stand in no anchor. */
  readonly next: Uint16Array;
  /** The anchors that end in a state. */
  readonly endings: readonly (readonly number[])[];
};

/**
 * Looks for many short texts at once, one step of a table for each character (Aho and Corasick, "Efficient string matching",
 * 1975): linear whatever the text is. Anchors are ASCII.
 */
export function createAnchorSearch(anchors: readonly string[]): AnchorSearch {
  const { next, endings } = automatonOf(anchors);
  const isEnding = Uint8Array.from(endings, ({ length }) => (length > 0 ? 1 : 0));
  const lengths = anchors.map(({ length }) => length);
  const longest = Math.max(...lengths);
  return (text, from, limit, onAnchor) => {
    const beyond = Math.min(text.length, limit + longest - 1);
    let state = 0;
    for (let at = from; at < beyond; at += 1) {
      const code = text.charCodeAt(at);
      state = code < alphabet ? (next[state * alphabet + code] ?? 0) : 0;
      if (isEnding[state] !== 1) continue;
      for (const anchor of endings[state] ?? []) {
        const begin = at + 1 - (lengths[anchor] ?? 0);
        if (begin < limit) onAnchor(anchor, begin);
      }
    }
  };
}

function automatonOf(anchors: readonly string[]): Automaton {
  const most = anchors.reduce((sum, { length }) => sum + length, 1);
  const next = new Uint16Array(most * alphabet);
  const endings: number[][] = [[]];
  for (const [number, anchor] of anchors.entries()) {
    let state = 0;
    for (let at = 0; at < anchor.length; at += 1) {
      const place = state * alphabet + anchor.charCodeAt(at);
      if (next[place] === 0) next[place] = endings.push([]) - 1;
      state = next[place] ?? 0;
    }
    endings[state]?.push(number);
  }
  return completed(next, endings);
}

/** Fills in where to go on after a mismatch, breadth first: each state's fallback is complete before its own row is. */
function completed(next: Uint16Array, endings: number[][]): Automaton {
  const fallbacks = new Uint16Array(endings.length);
  const waiting = Array.from(next.subarray(0, alphabet)).filter((state) => state !== 0);
  for (const state of waiting) {
    const fallback = fallbacks[state] ?? 0;
    endings[state]?.push(...(endings[fallback] ?? []));
    for (let code = 0; code < alphabet; code += 1) {
      const child = next[state * alphabet + code] ?? 0;
      const otherwise = next[fallback * alphabet + code] ?? 0;
      if (child === 0) {
        next[state * alphabet + code] = otherwise;
        continue;
      }
      fallbacks[child] = otherwise;
      waiting.push(child);
    }
  }
  return { next, endings };
}
