/** One way to break a function: the text that is there, what replaces it, and what users then see. */
export type Fault = { readonly good: string; readonly bad: string; readonly symptom: string };

/** A small pure function under a name to be chosen, with checks that notice each of its faults. */
export type LibraryFunction = {
  readonly lines: (name: string) => readonly string[];
  readonly title: string;
  readonly checks: (name: string) => readonly (readonly [call: string, expected: string])[];
  readonly faults: readonly Fault[];
};

export const libraryFunctions: readonly LibraryFunction[] = [
  {
    title: "holds a value between two limits",
    lines: (name) => [
      `export function ${name}(value, low, high) {`,
      "  if (value < low) return low;",
      "  return Math.min(value, high);",
      "}",
    ],
    checks: (name) => [
      [`${name}(5, 1, 9)`, "5"],
      [`${name}(0, 1, 9)`, "1"],
      [`${name}(12, 1, 9)`, "9"],
    ],
    faults: [
      { good: "Math.min", bad: "Math.max", symptom: "a value inside the limits comes back as the largest allowed" },
      {
        good: "value < low",
        bad: "value > low",
        symptom: "it works the wrong way round: values in order are replaced",
      },
    ],
  },
  {
    title: "says whether two closed spans meet",
    lines: (name) => [
      `export function ${name}(span, other) {`,
      "  return span.from <= other.to && other.from <= span.to;",
      "}",
    ],
    checks: (name) => [
      [`${name}({ from: 1, to: 4 }, { from: 4, to: 6 })`, "true"],
      [`${name}({ from: 4, to: 6 }, { from: 1, to: 4 })`, "true"],
      [`${name}({ from: 1, to: 2 }, { from: 3, to: 6 })`, "false"],
    ],
    faults: [
      { good: "other.from <= span.to", bad: "other.from < span.to", symptom: "the upper bound should be inclusive" },
      { good: "&&", bad: "||", symptom: "spans far from each other meet, although both conditions have to hold" },
    ],
  },
  {
    title: "counts the members of a closed span",
    lines: (name) => [
      `export function ${name}(first, last) {`,
      "  if (last < first) return 0;",
      "  return last - first + 1;",
      "}",
    ],
    checks: (name) => [
      [`${name}(3, 7)`, "5"],
      [`${name}(3, 3)`, "1"],
      [`${name}(4, 3)`, "0"],
    ],
    faults: [
      { good: " + 1", bad: "", symptom: "the count is off by one, one too small" },
      { good: "last < first", bad: "last <= first", symptom: "a span whose ends are equal counts as empty" },
    ],
  },
  {
    title: "gives a share in percent",
    lines: (name) => [
      `export function ${name}(part, whole) {`,
      "  if (whole === 0) return 0;",
      "  return Math.round((part * 100) / whole);",
      "}",
    ],
    checks: (name) => [
      [`${name}(1, 2)`, "50"],
      [`${name}(2, 3)`, "67"],
      [`${name}(2, 0)`, "0"],
    ],
    faults: [
      { good: "=== 0", bad: "!== 0", symptom: "the opposite of the empty case is treated as empty: everything is 0" },
      { good: "100", bad: "10", symptom: "the factor is a wrong constant: a half is no longer 50 percent" },
    ],
  },
  {
    title: "leaves hidden entries out and keeps the order",
    lines: (name) => [
      `export function ${name}(entries, hidden) {`,
      "  const kept = [];",
      "  for (const entry of entries) {",
      "    if (!hidden.includes(entry)) kept.push(entry);",
      "  }",
      "  return kept;",
      "}",
    ],
    checks: (name) => [
      [`${name}(["a", "b", "c"], ["b"])`, '["a", "c"]'],
      [`${name}([], ["b"])`, "[]"],
    ],
    faults: [
      { good: "!hidden", bad: "hidden", symptom: "it does the opposite: hidden entries are kept, the others dropped" },
      { good: "push", bad: "unshift", symptom: "entries come out from the end to the beginning" },
    ],
  },
  {
    title: "counts pages, the last perhaps not full",
    lines: (name) => [
      `export function ${name}(count, size) {`,
      "  if (count <= 0 || size <= 0) return 0;",
      "  return Math.ceil(count / size);",
      "}",
    ],
    checks: (name) => [
      [`${name}(41, 20)`, "3"],
      [`${name}(40, 20)`, "2"],
      [`${name}(5, 0)`, "0"],
      [`${name}(1, 1)`, "1"],
    ],
    faults: [
      { good: "ceil", bad: "floor", symptom: "it rounds down, so that a last page that isn't full is lost" },
      { good: "||", bad: "&&", symptom: "without any page size it is infinite; either being zero has to give 0" },
    ],
  },
  {
    title: "adds up hours, minutes and seconds",
    lines: (name) => [
      `export function ${name}(hours, minutes, seconds) {`,
      "  return hours * 3600 + minutes * 60 + seconds;",
      "}",
    ],
    checks: (name) => [
      [`${name}(1, 2, 3)`, "3723"],
      [`${name}(0, 0, 59)`, "59"],
    ],
    faults: [
      { good: "minutes * 60", bad: "minutes * 61", symptom: "a minute has a wrong number of seconds" },
      { good: "+ seconds", bad: "- seconds", symptom: "seconds are subtracted from the sum instead of added" },
    ],
  },
  {
    title: "finds the first of the longest words",
    lines: (name) => [
      `export function ${name}(words) {`,
      '  let best = "";',
      "  for (const word of words) {",
      "    if (word.length > best.length) best = word;",
      "  }",
      "  return best;",
      "}",
    ],
    checks: (name) => [
      [`${name}(["to", "tree", "four", "six"])`, '"tree"'],
      [`${name}([])`, '""'],
    ],
    faults: [
      { good: " > ", bad: " < ", symptom: "it compares in the wrong direction and finds nothing" },
      { good: " > ", bad: " >= ", symptom: "of words of equal length the last is found, not the first" },
    ],
  },
  {
    title: "takes the last items",
    lines: (name) => [
      `export function ${name}(items, count) {`,
      "  if (count >= items.length) return items.slice();",
      "  return items.slice(items.length - count);",
      "}",
    ],
    checks: (name) => [
      [`${name}([1, 2, 3, 4], 2)`, "[3, 4]"],
      [`${name}([1, 2], 5)`, "[1, 2]"],
    ],
    faults: [
      {
        good: "items.length - count",
        bad: "items.length + count",
        symptom: "nothing comes: it adds, it should subtract",
      },
      {
        good: "count >= items",
        bad: "count <= items",
        symptom: "everything comes, as if it compared in the opposite order",
      },
    ],
  },
  {
    title: "asks that every one of at least one rule holds",
    lines: (name) => [
      `export function ${name}(rules, value) {`,
      "  return rules.length > 0 && rules.every((rule) => rule(value));",
      "}",
    ],
    checks: (name) => [
      [`${name}([(n) => n > 1, (n) => n < 9], 5)`, "true"],
      [`${name}([(n) => n > 1, (n) => n < 9], 12)`, "false"],
      [`${name}([], 5)`, "false"],
    ],
    faults: [
      { good: "every", bad: "some", symptom: "any rule that holds is enough, although all have to" },
      { good: "&&", bad: "||", symptom: "it holds even without any rule and for any value, although both are needed" },
    ],
  },
  {
    title: "doubles a delay up to a limit",
    lines: (name) => [
      `export function ${name}(attempt, baseMs, limitMs) {`,
      "  const delayMs = baseMs * 2 ** (attempt - 1);",
      "  return Math.min(delayMs, limitMs);",
      "}",
    ],
    checks: (name) => [
      [`${name}(1, 100, 5000)`, "100"],
      [`${name}(4, 100, 5000)`, "800"],
      [`${name}(9, 100, 5000)`, "5000"],
    ],
    faults: [
      { good: " - 1", bad: "", symptom: "each delay is that of the next attempt: the count is off by one" },
      { good: "min", bad: "max", symptom: "the limit is the least delay, it should be the most" },
    ],
  },
  {
    title: "says whether a value lies in a closed range",
    lines: (name) => [
      `export function ${name}(value, lowest, highest) {`,
      "  const isHighEnough = value >= lowest;",
      "  return isHighEnough && value <= highest;",
      "}",
    ],
    checks: (name) => [
      [`${name}(3, 3, 5)`, "true"],
      [`${name}(5, 3, 5)`, "true"],
      [`${name}(6, 3, 5)`, "false"],
      [`${name}(2, 3, 5)`, "false"],
    ],
    faults: [
      { good: "value <= highest", bad: "value < highest", symptom: "the upper bound should be inclusive" },
      { good: "value >= lowest", bad: "value > lowest", symptom: "the lower bound should be inclusive" },
    ],
  },
];
