/** A set of ASCII characters. */
export type CharacterSet = Uint8Array;

/** `A-Z` and the like as in a regular expression's brackets, without escapes; a `-` stands last. */
export function characterSet(ranges: string): CharacterSet {
  const set = new Uint8Array(128);
  for (let at = 0; at < ranges.length; at += 1) {
    const isRange = ranges[at + 1] === "-" && at + 2 < ranges.length;
    const first = ranges.charCodeAt(at);
    const last = isRange ? ranges.charCodeAt(at + 2) : first;
    set.fill(1, first, last + 1);
    if (isRange) at += 2;
  }
  return set;
}

export const isIn = (set: CharacterSet, text: string, at: number): boolean => set[text.charCodeAt(at)] === 1;

/** Ends of runs of characters within one text. The last run of each set is remembered: no character is looked at twice. */
export type Runs = { readonly text: string; readonly end: (set: CharacterSet, from: number) => number };

export function createRuns(text: string): Runs {
  const known = new Map<CharacterSet, { readonly from: number; readonly to: number }>();
  return {
    text,
    end: (set, from) => {
      const run = known.get(set);
      if (run !== undefined && run.from <= from && from < run.to) return run.to;
      let to = from;
      while (to < text.length && isIn(set, text, to)) to += 1;
      known.set(set, { from, to });
      return to;
    },
  };
}
