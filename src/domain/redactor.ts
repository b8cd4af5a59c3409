import type { Redact, Redacted } from "./redacted.ts";
import type { Secret } from "./secret.ts";
import { formsOf, leastSecretLength } from "./secret-forms.ts";
import { longestShape, searchShapes, shapeLookBehind } from "./secret-shapes.ts";
import { createTextSearch, type TextSearch } from "./text-search.ts";

/** A place in a text that holds a secret: `[from, to)` in code units. */
export type SecretFinding = { readonly rule: string; readonly from: number; readonly to: number };

/** What stands for a secret that was taken out. */
export const redactedMark = "[redacted]";

/** The rule of a live secret's place, in whatever form it stands there. */
export const liveSecretRule = "live-secret";

/** A text that comes in pieces. What is written and what `end` gives are together what `redact` makes of the whole. */
export type RedactingStream = { readonly write: (chunk: string) => string; readonly end: () => string };

/**
 * The one redactor of all ways out (SEC-100): live secrets in each of their forms, then values that have a secret's shape.
 * Takes time linear in the text; never throws.
 */
export type Redactor = {
  readonly redact: Redact;
  /** Live secrets alone: for prompts, whose text edits must match (SEC-16). */
  readonly redactExact: (text: string) => string;
  /** All that `redact` would take out, in the order of its places, which may overlap. */
  readonly find: (text: string) => readonly SecretFinding[];
  readonly stream: () => RedactingStream;
  /** A secret that became live later, such as a minted token. */
  readonly learn: (secret: Secret) => void;
};

/** Of secrets learned later the newest are kept: a token lives for an hour, and no process mints more in one. */
const learnedAtMost = 512;

/** Holds the secrets in memory alone. Values shorter than `leastSecretLength` are not looked for. */
export function createRedactor(secrets: readonly Secret[]): Redactor {
  const given = secrets.flatMap((secret) => formsOf(secret.reveal()));
  const learned = new Map<string, readonly string[]>();
  let known: Forms | null = null; // made when it is needed: several secrets may be learned before
  const knownForms = (): Forms => {
    known ??= formsWith([...given, ...[...learned.values()].flat()]);
    return known;
  };

  const findExact: Find = (text, from, limit) => {
    const found: SecretFinding[] = [];
    const { forms, search } = knownForms();
    search(text, from, limit, (number, at) => {
      found.push({ rule: liveSecretRule, from: at, to: at + (forms[number] ?? "").length });
    });
    return found;
  };
  const findAll: Find = (text, from, limit) => {
    const found = [...findExact(text, from, limit)];
    searchShapes(text, from, limit, (rule, begin, end) => found.push({ rule, from: begin, to: end }));
    return found;
  };
  return {
    redact: (text) => render(text, findAll(text, 0, text.length)) as Redacted<string>,
    redactExact: (text) => render(text, findExact(text, 0, text.length)),
    find: (text) => findAll(text, 0, text.length).toSorted(byPlace),
    stream: () => createStream(findAll, Math.max(knownForms().longest, longestShape)),
    learn: (secret) => {
      const value = secret.reveal();
      if (learned.has(value)) return;
      learned.set(value, formsOf(value));
      for (const oldest of learned.keys()) if (learned.size > learnedAtMost) learned.delete(oldest);
      known = null;
    },
  };
}

/** What begins in `[from, limit)`. */
type Find = (text: string, from: number, limit: number) => readonly SecretFinding[];

type Forms = { readonly forms: readonly string[]; readonly search: TextSearch; readonly longest: number };
const formsWith = (forms: readonly string[]): Forms => ({
  forms,
  search: createTextSearch(forms, leastSecretLength),
  longest: forms.reduce((most, { length }) => Math.max(most, length), 0),
});

const byPlace = (a: SecretFinding, b: SecretFinding): number => a.from - b.from || a.to - b.to;

function render(text: string, found: readonly SecretFinding[]): string {
  return found.length === 0 ? text : renderUpTo(text, found.toSorted(byPlace), text.length, noMark).text;
}

/** No mark is open: nothing before the text was taken out. */
const noMark = -1;

/**
 * The text up to `end` with a mark for each block of places that overlap or touch. `open` is where the block of the mark that
 * was written last ends; a place that begins within it needs no further mark.
 */
function renderUpTo(
  text: string,
  found: readonly SecretFinding[],
  end: number,
  open: number,
): { readonly text: string; readonly open: number } {
  const parts: string[] = [];
  let covered = open;
  let written = Math.max(0, Math.min(covered, end));
  for (const { from, to } of found) {
    if (from >= end && from > covered) break;
    if (from > covered) {
      parts.push(text.slice(written, from), redactedMark);
      covered = to;
    }
    covered = Math.max(covered, to);
    written = Math.min(covered, end);
  }
  parts.push(text.slice(written, end));
  return { text: parts.join(""), open: covered >= end ? covered : noMark };
}

/** So much more than what is held back is gathered before it is searched, so that small pieces cost no more than large ones. */
const gathered = 4096;
/** What is kept before the place up to which was searched: where a shape may look back to, and the character before it. */
const kept = shapeLookBehind + 1;

/**
 * Holds back as many characters as the longest form and the longest shape have (SEC-102): what begins before them is known
 * whole. Each place is searched once, with the same characters in sight as in the whole text.
 */
function createStream(find: Find, longestSecret: number): RedactingStream {
  let held = "";
  let waiting: string[] = [];
  let waitingLength = 0;
  let searched = 0;
  let open = noMark;
  let found: readonly SecretFinding[] = [];

  function advance(limit: number, end: number): string {
    found = [...found, ...find(held, searched, limit)].toSorted(byPlace);
    const rendered = renderUpTo(held, found, end, open);
    open = rendered.open === noMark ? noMark : rendered.open - end;
    found = found.filter(({ to }) => to > end).map(({ rule, from, to }) => ({ rule, from: from - end, to: to - end }));
    searched = limit - end;
    held = held.slice(end);
    return rendered.text;
  }
  function gather(): void {
    held += waiting.join("");
    waiting = [];
    waitingLength = 0;
  }
  return {
    write: (chunk) => {
      waiting.push(chunk);
      waitingLength += chunk.length;
      if (held.length + waitingLength < searched + longestSecret + kept + gathered) return "";
      gather();
      const limit = held.length - longestSecret;
      return advance(limit, limit - kept);
    },
    end: () => {
      gather();
      return advance(held.length, held.length);
    },
  };
}
