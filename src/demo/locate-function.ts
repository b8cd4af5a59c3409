import { ask, brief, type Plan, type Stuck, stuck } from "./plan.ts";
import { type Answer, hitsOf, pathsOf, windowOf } from "./tool-answer.ts";

/** Where a function is defined, as a search showed it. */
export type FoundFunction = {
  readonly kind: "found";
  readonly name: string;
  readonly path: string;
  readonly line: number;
  readonly lineText: string;
};

/** More names than this in one search would be guessing. */
const maxSuspects = 16;

/**
 * Finds the definition of the function to mend: first among the names that the issue writes as code, then among the names
 * that stand near the place where the tests failed.
 */
export function* locateFunction(task: string, failures: string): Plan<FoundFunction | Stuck> {
  const named = yield* searchDefinition("I look for what the issue names.", suspectsIn(task));
  if (named !== null) return named;
  for (const place of placesIn(failures).slice(0, 3)) {
    const called = yield* namesAt(place);
    if ("kind" in called) return called;
    const found = yield* searchDefinition("I look for what the failing test calls.", called);
    if (found !== null) return found;
  }
  return stuck("neither the issue nor the failing test led to a function");
}

function* searchDefinition(say: string, names: readonly string[]): Plan<FoundFunction | Stuck | null> {
  if (names.length === 0) return null;
  const either = `(?:${names.map((name) => name.replaceAll("$", "\\$")).join("|")})`;
  const pattern = `\\b(?:function|def|const|let|func|fn)\\s+${either}\\b|^\\s*${either}\\s*\\(\\)`;
  const answer = yield* ask(say, "search_text", { pattern, path: null, include: null, context_lines: null });
  if (answer?.status === "empty") return null;
  if (answer?.status !== "ok") return stuck(`the search went wrong: ${brief(answer)}`);
  return definitionIn(answer, names, new RegExp(pattern));
}

/** The first definition outside the tests, in the order of the names. Null if only tests hold one. */
function definitionIn(answer: Answer, names: readonly string[], pattern: RegExp): FoundFunction | Stuck | null {
  const hits = hitsOf(answer);
  const strange = hits.find((hit) => !pattern.test(hit.text) && !hit.text.includes("…"));
  if (hits.length === 0 || strange !== undefined)
    return stuck(`the search shows lines that don't match: ${strange?.text ?? brief(answer)}`);
  const own = hits.filter((hit) => !isTest(hit.path));
  for (const name of names) {
    const hit = own.find((candidate) => wordsIn(candidate.text).includes(name));
    if (hit !== undefined) return { kind: "found", name, path: hit.path, line: hit.number, lineText: hit.text };
  }
  return null;
}

const isTest = (path: string): boolean =>
  /(^|\/)(tests?|spec|__tests__)\/|(^|\/)test[_.-]|[_.-](test|spec)s?\.\w+$/.test(path);

const wordsIn = (text: string): readonly string[] => text.match(/[A-Za-z_$][\w$]*/g) ?? [];

/** Identifiers that a text writes as code: in backticks, before a parenthesis, or in camel or snake case. */
function suspectsIn(text: string): readonly string[] {
  const quoted = [...text.matchAll(/`([^`\n]+)`/g)].flatMap((match) => wordsIn(match[1] ?? ""));
  const called = [...text.matchAll(/([A-Za-z_$][\w$]*)\(/g)].map((match) => match[1] ?? "");
  const cased = wordsIn(text).filter((word) => /[a-z][A-Z]|[a-z]_[a-z]/.test(word));
  return [...new Set([...quoted, ...called, ...cased])].filter((word) => word.length > 2).slice(0, maxSuspects);
}

type Place = { readonly path: string; readonly line: number };

/** Source places in the output of the tests (stack frames of Node and Python, `file:line` of others), tests only. */
function placesIn(output: string): readonly Place[] {
  const found = [...output.matchAll(/([\w@+./-]+\.\w+)(?:", line |:)(\d+)/g)].map((match) => ({
    path: (match[1] ?? "").replace(/^\/+/, ""),
    line: Number(match[2]),
  }));
  return found.filter(
    (place, index) =>
      isTest(place.path) &&
      found.findIndex((other) => other.path === place.path && other.line === place.line) === index,
  );
}

/** Reads around a place of a failing test and returns the names used there, the nearest lines first. */
function* namesAt(place: Place): Plan<readonly string[] | Stuck> {
  const base = place.path.slice(place.path.lastIndexOf("/") + 1);
  const listed = yield* ask(`A test failed in \`${base}\`; I look where it is.`, "find_files", {
    glob: `**/${base}`,
    path: null,
  });
  if (listed?.status !== "ok") return stuck(`the failing test's file was not found: ${brief(listed)}`);
  const path = pathsOf(listed).find((candidate) => `/${place.path}`.endsWith(`/${candidate}`));
  if (path === undefined) return stuck(`no listed file is the failing test's: ${brief(listed)}`);
  const lineFrom = Math.max(1, place.line - 12);
  const read = yield* ask("I read the test that failed.", "read_file", { path, line_from: lineFrom, line_count: 24 });
  const lines = read?.status === "ok" ? windowOf(read) : [];
  if (lines[0]?.number !== lineFrom) return stuck(`the failing test could not be read: ${brief(read)}`);
  const nearest = lines.toSorted((a, b) => Math.abs(a.number - place.line) - Math.abs(b.number - place.line));
  return [...new Set(nearest.flatMap((line) => callsIn(line.text)))].slice(0, maxSuspects);
}

/** Names before a parenthesis, and those in a shell's command substitution. */
const callsIn = (text: string): readonly string[] =>
  [...text.matchAll(/\$\((\w+)|(?<![\w$])([A-Za-z_][\w$]*)\s*\(/g)].map((match) => match[1] ?? match[2] ?? "");
