/** Numbers from 0 to below 1 that a seed determines (mulberry32). */
export type Random = () => number;

export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One of a list that isn't empty. */
export function pick<Item>(random: Random, items: readonly Item[]): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
}

/** The items in another order. */
export const shuffled = <Item>(random: Random, items: readonly Item[]): readonly Item[] =>
  items
    .map((item) => ({ item, order: random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);

const syllables =
  "ba be bo da de di fa fo ga go ka ke ko la le lo ma mi mo na ne no pa po ra re ro sa so ta te to va vo".split(" ");

/** A word that nobody has written before, of `count` syllables. */
export const word = (random: Random, count: number): string =>
  Array.from({ length: count }, () => pick(random, syllables)).join("");

/** A name in camel case. */
export function camelName(random: Random): string {
  const second = word(random, 3);
  return `${word(random, 2)}${second.slice(0, 1).toUpperCase()}${second.slice(1)}`;
}
