/** Levels of quotes and lists that one line may open: every line within is looked at once more for each of them. */
const mostLevels = 32;
const marker = "(?:>|(?:[-+*]|\\d{1,9}[.)])[ \\t])[ \\t]*";
/** A line of dashes or stars alone is a rule and no list. */
const deepLine = new RegExp(`^(?![-*_ \\t]*$)[ \\t]*(?:${marker}){${mostLevels + 1}}`, "m");

/** What is between brackets is read once for each pair around it: a text of people comes to a few times its length. */
const mostReadings = 20;
const leastCharacters = 100_000;

/** Definitions are looked through at each place that may name one; footnotes cost more by far. */
const mostLookings = 5_000_000;
const mostFootnotes = 200;
const definition = /^[ \t>]*\[[^\]\n]+\]:/gm;

/**
 * Whether the parser would need more than time in proportion to the text's length (SEC-14): anyone may write an issue, and
 * Markdown that is made to be slow costs the square of its length. Told from the text alone, in one pass.
 */
export const isTooIntricate = (markdown: string): boolean =>
  deepLine.test(markdown) ||
  charactersInBrackets(markdown) > Math.max(leastCharacters, mostReadings * markdown.length) ||
  hasManyDefinitions(markdown);

function hasManyDefinitions(markdown: string): boolean {
  const definitions = Array.from(markdown.matchAll(definition), ([head]) => head.trimStart());
  const footnotes = definitions.filter((head) => head.startsWith("[^"));
  const places = markdown.split("]").length - 1;
  return footnotes.length > mostFootnotes || definitions.length * places > mostLookings;
}

/** The lengths of all bracketed parts, those within others counted again. */
function charactersInBrackets(markdown: string): number {
  const opened: number[] = [];
  let sum = 0;
  for (const { 0: bracket, index } of markdown.matchAll(/[[\]]/g)) {
    if (bracket === "[") opened.push(index);
    else sum += index - (opened.pop() ?? index);
  }
  return sum;
}
