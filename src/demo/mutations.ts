import type { NumberedLine } from "./tool-answer.ts";

/** A one-line change of a function that may mend it. */
export type Candidate = {
  readonly number: number;
  /** The whole line after the change. */
  readonly text: string;
  /** Where in the line it changes, from 0. */
  readonly column: number;
  /** Said in the summary: "`<` becomes `<=`". */
  readonly description: string;
};

type Rule = {
  readonly name: string;
  readonly pattern: RegExp;
  readonly become: (found: string, hints: Hints) => readonly string[];
  /** How likely it is without any hint; higher is tried earlier. */
  readonly weight: number;
  /** Words of an issue that speak for this rule. */
  readonly words: RegExp;
  /** Whether it may stand in the head of a loop, where a wrong change may never end. */
  readonly inLoopHead: boolean;
};

type Hints = { readonly text: string; readonly numbers: readonly string[] };

const swap =
  (...pairs: readonly (readonly [string, string])[]) =>
  (found: string): readonly string[] =>
    pairs.filter((pair) => pair.includes(found)).map(([a, b]) => (found === a ? b : a));

/** What people get wrong in a line, each with its way back. */
const rules: readonly Rule[] = [
  {
    name: "boundary",
    pattern: /(?<![<>=!-])(?:<=|>=|<|>)(?![<>=])|-(?:lt|le|gt|ge)\b/g,
    become: swap(["<", "<="], [">", ">="], ["-lt", "-le"], ["-gt", "-ge"]),
    weight: 6,
    words: /inclusive|exclusive|bound|limit|edge|exactly|equal|at least|at most|off by one|first|last|reach|itself/i,
    inLoopHead: true,
  },
  {
    name: "direction",
    pattern: /(?<![<>=!-])(?:<=|>=|<|>)(?![<>=])|-(?:lt|le|gt|ge)\b/g,
    become: swap(["<", ">"], ["<=", ">="], ["-lt", "-gt"], ["-le", "-ge"]),
    weight: 3,
    words: /revers|opposite|wrong way|order|descend|ascend/i,
    inLoopHead: false,
  },
  {
    name: "equality",
    pattern: /(?<![=!<>])(?:===|!==|==|!=)(?!=)|-(?:eq|ne)\b/g,
    become: swap(["===", "!=="], ["==", "!="], ["-eq", "-ne"]),
    weight: 4,
    words: /opposite|revers|equal|differ|same|not\b|only/i,
    inLoopHead: false,
  },
  {
    name: "logic",
    pattern: /&&|\|\||\b(?:and|or)\b/g,
    become: swap(["&&", "||"], ["and", "or"]),
    weight: 5,
    words: /\b(?:both|either|any|all|one of|only|and|or|unless|although|even)\b/i,
    inLoopHead: false,
  },
  {
    name: "negation",
    pattern: /!(?=[\w$(])|\bnot (?=\w)/g,
    become: () => [""],
    weight: 4,
    words: /opposite|revers|invert|negat|exactly when|not\b/i,
    inLoopHead: false,
  },
  {
    name: "missing negation",
    pattern:
      /(?<=(?:\(|\breturn |&& |\|\| |=> ))[A-Za-z_$][\w$.]*(?:\([^()]*\))?(?=\s*(?:\)(?:\s*[{)&|;]|\s+\w|$)|&&|\|\||;|\?))/g,
    become: (found) => [`!${found}`],
    weight: 3,
    words: /opposite|revers|invert|negat|exactly when|instead|kept|dropped|not\b/i,
    inLoopHead: false,
  },
  {
    name: "missing not",
    pattern: /(?<=\b(?:if|return|and|or) )[A-Za-z_][\w.]*(?:\([^()]*\))?(?=\s*(?::$|$| and | or | for |\]))/g,
    become: (found) => [`not ${found}`],
    weight: 2,
    words: /opposite|revers|invert|negat|exactly when|instead|kept|dropped|not\b/i,
    inLoopHead: false,
  },
  {
    name: "extreme",
    pattern: /\b(?:min|max|floor|ceil|some|every|any|all|push|unshift|pop|shift|startsWith|endsWith)(?=\()/g,
    become: swap(
      ["min", "max"],
      ["floor", "ceil"],
      ["some", "every"],
      ["any", "all"],
      ["push", "unshift"],
      ["pop", "shift"],
      ["startsWith", "endsWith"],
    ),
    weight: 5,
    words: /least|most|small|large|low|high|min|max|round|any|all|every|begin|end|cap|never/i,
    inLoopHead: false,
  },
  {
    name: "truth value",
    pattern: /\b(?:true|false|True|False)\b/g,
    become: swap(["true", "false"], ["True", "False"]),
    weight: 3,
    words: /true|false|opposite|always|never/i,
    inLoopHead: false,
  },
  {
    name: "dropped offset",
    pattern: / [+-] 1\b/g,
    become: () => [""],
    weight: 3,
    words: /off by one|one (?:more|less|too)|count|last|first|length|too (?:long|short|many|few)/i,
    inLoopHead: false,
  },
  {
    name: "missing offset",
    pattern: /(?<=[\w$)\]])(?=(?:\)|\]|,|;|$))/g,
    become: () => [" + 1", " - 1"],
    weight: 1,
    words:
      /off by one|one (?:more|less|too)|count|inclusive|both ends|last|first|length|too (?:long|short|many|few|small)/i,
    inLoopHead: false,
  },
  {
    name: "arithmetic",
    pattern: /(?<=[\w$)\]] )[+\-*/](?= [\w$(])/g,
    become: (found) => ({ "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"] })[found] ?? [],
    weight: 3,
    words: /add|sum|total|subtract|minus|negative|difference|times|divid|share|percent|average/i,
    inLoopHead: false,
  },
  {
    name: "constant",
    pattern: /(?<![\w$.#])\d+(?![\w$.])/g,
    become: (found, hints) =>
      [...new Set([...hints.numbers, String(Number(found) + 1), String(Math.max(0, Number(found) - 1))])].filter(
        (value) => value !== found,
      ),
    weight: 2,
    words: /constant|number|second|minute|hour|day|week|percent|default|length|\d/i,
    inLoopHead: false,
  },
];

/** Weight that a hint word adds; more than any rule has by itself. */
const hintWeight = 4;
const numbersFromHints = 6;
const loopHead = /^\s*(?:for|while|until|\} while)\b/;

/** All one-line changes of a function's lines, the likeliest first; two ways to the same line count once. */
export function candidatesFor(lines: readonly NumberedLine[], hintText: string): readonly Candidate[] {
  const hints = { text: hintText, numbers: numbersIn(hintText) };
  const weighed = rules.flatMap((rule) =>
    lines
      .slice(1)
      .flatMap((line) => changesOf(line, rule, hints).map((candidate) => ({ candidate, weight: weigh(rule, hints) }))),
  );
  const ordered = weighed.toSorted((a, b) => b.weight - a.weight).map(({ candidate }) => candidate);
  const seen = new Set<string>();
  return ordered.filter((candidate) => {
    const key = `${candidate.number}:${candidate.text}`;
    return !seen.has(key) && seen.add(key);
  });
}

const weigh = (rule: Rule, hints: Hints): number => rule.weight + (rule.words.test(hints.text) ? hintWeight : 0);

function changesOf(line: NumberedLine, rule: Rule, hints: Hints): readonly Candidate[] {
  if (loopHead.test(line.text) && !rule.inLoopHead) return [];
  return [...codeOnly(line.text).matchAll(rule.pattern)].flatMap((match) =>
    rule.become(match[0], hints).map((replacement) => ({
      number: line.number,
      column: match.index,
      text: line.text.slice(0, match.index) + replacement + line.text.slice(match.index + match[0].length),
      description: describe(rule, match[0], replacement),
    })),
  );
}

function describe(rule: Rule, found: string, replacement: string): string {
  if (found === "") return `\`${replacement.trim()}\` was missing`;
  if (replacement === "") return `\`${found.trim()}\` is dropped`;
  return `\`${found}\` becomes \`${replacement}\` (${rule.name})`;
}

/** Numbers that the issue or a failed assertion names, in their order: one of them may be the right constant. */
const numbersIn = (text: string): readonly string[] =>
  [...new Set([...text.matchAll(/(?<![\w.:/-])\d{1,7}(?![\w.:/])/g)].map((match) => match[0]))].slice(
    0,
    numbersFromHints,
  );

/** The line with strings and comments blanked, so that columns stay and no rule looks into them. */
function codeOnly(text: string): string {
  if (/^\s*(?:\/\/|#|\*|\/\*|""")/.test(text)) return "";
  const noStrings = text.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/g, (found) =>
    /^"\$/.test(found) ? found : "\0".repeat(found.length),
  );
  return noStrings.replace(/(?:\/\/|(?<=\s)# ).*$/, (found) => "\0".repeat(found.length));
}
