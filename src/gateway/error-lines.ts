/** Marks that a runner uses and that the common words miss; found by the program's name in the command (ACI-9). */
const runners: readonly { readonly name: string; readonly command: RegExp; readonly error: RegExp }[] = [
  { name: "jest", command: /\bjest\b/, error: /^\s*●|^\s*✕/ },
  { name: "vitest", command: /\bvitest\b/, error: /^\s*[×❯]\s|^\s*FAIL\s/ },
  { name: "pytest", command: /\b(?:pytest|py\.test)\b/, error: /^E\s|^(?:FAILED|ERROR)\s/ },
  {
    name: "go",
    command: /\bgo\s+(?:test|build|vet|run)\b/,
    error: /^\s*--- FAIL|^FAIL\b|\.go:\d+:(?:\d+:)?\s|^panic:/,
  },
  { name: "tsc", command: /\btsc\b/, error: /\berror TS\d+:/ },
  { name: "eslint", command: /\beslint\b/, error: /^\s*\d+:\d+\s+error\s/ },
  {
    name: "gcc",
    command: /\b(?:gcc|g\+\+|cc|c\+\+|clang|clang\+\+|make|cmake|ninja)\b/,
    error: /: (?:fatal )?error:|undefined reference|\*\*\* \[/,
  },
];

const words =
  /\b\w*(?:error|exception)s?\b(?!\.[a-z])|\b(?:fail(?:s|ed|ing|ures?)?|panic(?:s|ked)?|fatal|traceback)\b(?!\.[a-z])|[✗✘✖]/i;
const zeroBefore = /\b(?:0|no|zero|without)\s+(?:errors?|fail(?:s|ed|ing|ures?)?|exceptions?|panics?)\b/gi;
const zeroAfter = /\b(?:errors?|fail(?:s|ed|ures?)?|exceptions?)\s*[:=]?\s*0\b(?![.\d])/gi;
const passed = /^\s*(?:[✓✔√]|ok \d+|PASS\b|--- PASS|# Subtest:)|\bPASSED\b|\.\.\. ok$/;

/** A line is judged by its first characters; a longer one is data rather than a message. */
const judgedCharacters = 4_000;

/**
 * Says which lines of a command's output are error lines. Runner by runner, with a fallback on common words; counts of
 * zero ("0 errors", "# fail 0") and lines that report a passed test don't match.
 */
export function createErrorClassifier(command: string): (line: string) => boolean {
  const marks = runners.filter((runner) => runner.command.test(command)).map((runner) => runner.error);
  return (line) => {
    const start = line.length > judgedCharacters ? line.slice(0, judgedCharacters) : line;
    if (marks.some((mark) => mark.test(start))) return true;
    if (!words.test(start) || passed.test(start)) return false;
    return words.test(start.replace(zeroBefore, "").replace(zeroAfter, ""));
  };
}
