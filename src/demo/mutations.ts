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
  readonly become: (found: string, numbers: readonly string[]) => readonly string[];
  /** How likely it is without any hint; higher is tried earlier. */
  readonly weight: number;
  /** Words of an issue that speak for this rule. */
  readonly words: RegExp;
  /** Whether it may stand in the head of a loop, where a wrong change may never end. */
  readonly inLoopHead: boolean;
};

const swap =
  (...pairs: readonly (readonly [string, string])[]) =>
  (found: string): readonly string[] =>
    pairs.filter((pair) => pair.includes(found)).map(([a, b]) => (found === a ? b : a));

const integer = /(?<![\w$.#])\d+(?![\w$.])/g;

/** What people get wrong in a line, each with its way back. */
const rules: readonly Rule[] = [
  {
    name: "boundary",
    pattern: /(?<![<>=!-])(?:<=|>=|<|>)(?![<>=])|-(?:lt|le|gt|ge)\b/g,
    become: swap(["<", "<="], [">", ">="], ["-lt", "-le"], ["-gt", "-ge"]),
    weight: 6,
    words:
      /inclusive|exclusive|bound|limit|edge|exactly|equal|at least|at most|until|up to|ends?\b|very|off by one|first|last|reach|itself/gi,
    inLoopHead: true,
  },
  {
    name: "direction",
    pattern: /(?<![<>=!-])(?:<=|>=|<|>)(?![<>=])|-(?:lt|le|gt|ge)\b/g,
    become: swap(["<", ">"], ["<=", ">="], ["-lt", "-gt"], ["-le", "-ge"]),
    weight: 3,
    words: /revers|opposite|wrong way|order|descend|ascend/gi,
    inLoopHead: false,
  },
  {
    name: "equality",
    pattern: /(?<![=!<>])(?:===|!==|==|!=)(?!=)|-(?:eq|ne)\b/g,
    become: swap(["===", "!=="], ["==", "!="], ["-eq", "-ne"]),
    weight: 4,
    words: /opposite|revers|equal|differ|same|not\b|only/gi,
    inLoopHead: false,
  },
  {
    name: "logic",
    pattern: /&&|\|\||\b(?:and|or)\b/g,
    become: swap(["&&", "||"], ["and", "or"]),
    weight: 5,
    words: /\b(?:both|either|any|all|one of|only|and|or|unless|although|even)\b/gi,
    inLoopHead: false,
  },
  {
    name: "negation",
    pattern: /!(?=[\w$(])|\bnot (?=\w)/g,
    become: () => [""],
    weight: 4,
    words: /opposite|revers|invert|negat|exactly when|not\b/gi,
    inLoopHead: false,
  },
  {
    name: "missing negation",
    pattern:
      /(?<=(?:\(|\breturn |&& |\|\| |=> ))[A-Za-z_$][\w$.]*(?:\([^()]*\))?(?=\s*(?:\)(?:\s*[{)&|;]|\s+\w|$)|&&|\|\||;|\?))/g,
    become: (found) => [`!${found}`],
    weight: 3,
    words: /opposite|revers|invert|negat|exactly when|instead|kept|dropped|not\b/gi,
    inLoopHead: false,
  },
  {
    name: "missing not",
    pattern: /(?<=\b(?:if|return|and|or) )[A-Za-z_][\w.]*(?:\([^()]*\))?(?=\s*(?::$|$| and | or | for |\]))/g,
    become: (found) => [`not ${found}`],
    weight: 2,
    words: /opposite|revers|invert|negat|exactly when|instead|kept|dropped|not\b/gi,
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
    words: /least|most|small|large|low|high|min|max|round|any|all|every|begin|end|cap|never/gi,
    inLoopHead: false,
  },
  {
    name: "truth value",
    pattern: /\b(?:true|false|True|False)\b/g,
    become: swap(["true", "false"], ["True", "False"]),
    weight: 3,
    words: /true|false|opposite|always|never/gi,
    inLoopHead: false,
  },
  {
    name: "dropped offset",
    pattern: / [+-] 1\b/g,
    become: () => [""],
    weight: 3,
    words: /off by one|one (?:more|less|too)|count|last|first|length|too (?:long|short|many|few)/gi,
    inLoopHead: false,
  },
  {
    name: "missing offset",
    pattern: /(?<=[\w$)\]])(?=(?:\)|\]|,|;|$))/g,
    become: () => [" + 1", " - 1"],
    weight: 1,
    words:
      /off by one|one (?:more|less|too)|count|inclusive|both ends|last|first|length|too (?:long|short|many|few|small)/gi,
    inLoopHead: false,
  },
  {
    name: "arithmetic",
    pattern: /(?<=[\w$)\]] )[+\-*/](?= [\w$(])/g,
    become: (found) => ({ "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"] })[found] ?? [],
    weight: 3,
    words: /add|sum|total|subtract|minus|negative|difference|times|divid|share|percent|average/gi,
    inLoopHead: false,
  },
  {
    name: "constant",
    pattern: integer,
    become: (found) => [String(Number(found) + 1), String(Math.max(0, Number(found) - 1))],
    weight: 2,
    words: /constant|factor|default|percent|width|second|minute|hour|day|week|per \w+/gi,
    inLoopHead: false,
  },
  {
    name: "other constant",
    pattern: integer,
    become: (found, numbers) => [`${found}0`, found.replace(/0$/, ""), ...numbers],
    weight: 0,
    words: /constant|factor|default|percent|width/gi,
    inLoopHead: false,
  },
];

/** Weight that each different word of the issue adds, up to three: together more than any rule has by itself. */
const hintWeight = 3;
const hintWords = 3;
const numbersFromHints = 6;
const loopHead = /^\s*(?:for|while|until|\} while)\b/;

/**
 * All one-line changes of a function's lines, the likeliest first; two ways to the same line count once. The words of the
 * issue say which kind of change is likely, the numbers in it and in the failures which constants are.
 */
export function candidatesFor(lines: readonly NumberedLine[], issue: string, failures: string): readonly Candidate[] {
  const numbers = numbersIn(`${issue}\n${failures}`);
  const seen = new Set<string>();
  return rules
    .toSorted((a, b) => weigh(b, issue) - weigh(a, issue))
    .flatMap((rule) => lines.slice(1).flatMap((line) => changesOf(line, rule, numbers)))
    .filter((candidate) => {
      const key = `${candidate.number}:${candidate.text}`;
      return !seen.has(key) && seen.add(key);
    });
}

function weigh(rule: Rule, issue: string): number {
  const words = new Set([...issue.matchAll(rule.words)].map((match) => match[0].toLowerCase()));
  return rule.weight + hintWeight * Math.min(words.size, hintWords);
}

function changesOf(line: NumberedLine, rule: Rule, numbers: readonly string[]): readonly Candidate[] {
  if (loopHead.test(line.text) && !rule.inLoopHead) return [];
  return [...codeOnly(line.text).matchAll(rule.pattern)].flatMap((match) =>
    changed(rule.become(match[0], numbers), match[0]).map((replacement) => ({
      number: line.number,
      column: match.index,
      text: line.text.slice(0, match.index) + replacement + line.text.slice(match.index + match[0].length),
      description: describe(rule, match[0], replacement),
    })),
  );
}

const changed = (replacements: readonly string[], found: string): readonly string[] =>
  replacements.filter((replacement) => replacement !== found);

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
