import { pathOf } from "./arguments-of.ts";
import type { CallResult } from "./turn.ts";

/** What a rule has seen: how often by now, what to tell the model, and what it remembers until the next turn. */
export type Counted<Memory> = { readonly memory: Memory; readonly count: number; readonly told: string };

const readers: ReadonlySet<string> = new Set(["read_file", "search_text", "find_files", "view_image"]);
const runners: ReadonlySet<string> = new Set(["run_command", "run_tests"]);
const malformed: ReadonlySet<string> = new Set(["unknown_tool", "invalid_arguments", "truncated_call"]);

type Signed = { readonly signature: string; readonly tree: string | null };
type PathHistory = { readonly hashes: readonly (string | null)[]; readonly returns: number };
type Edits = { readonly refused: ReadonlyMap<string, number>; readonly mustRead: ReadonlySet<string> };
type Known = { readonly regions: ReadonlySet<string>; readonly tests: string | null; readonly tree: string | null };

/** Nothing seen yet. */
export const startCounts = {
  repeats: start<string | null>(null),
  cycle: start<readonly Signed[]>([]),
  returns: start<ReadonlyMap<string, PathHistory>>(new Map()),
  refusedEdits: start<Edits>({ refused: new Map(), mustRead: new Set() }),
  idleTurns: start<Known>({ regions: new Set(), tests: null, tree: null }),
  formatErrors: start(null),
  timeouts: start(null),
};

/** Identical signatures in a row. */
export function countRepeats(before: Counted<string | null>, results: readonly CallResult[]): Counted<string | null> {
  let { memory, count, told } = before;
  for (const result of results) {
    if (result.signature === null) continue;
    count = result.signature === memory ? count + 1 : 1;
    memory = result.signature;
    told = `${quote(result)} gave the same result ${count} times in a row. Do something else.`;
  }
  return { memory, count, told };
}

/** The most signatures that a verdict on circles needs: 5 rounds of 4. */
const longestTail = 20;

/** Rounds of a circle of 2 to 4 signatures with the tree unchanged. */
export function countCycle(
  before: Counted<readonly Signed[]>,
  results: readonly CallResult[],
): Counted<readonly Signed[]> {
  const signed = results.flatMap(({ signature, tree }) => (signature === null ? [] : [{ signature, tree }]));
  const memory = [...before.memory, ...signed].slice(-longestTail);
  const rounds = [2, 3, 4].map((period) => roundsOf(memory, period));
  const count = Math.max(...rounds);
  const calls = results.map(quote).join(", ");
  return {
    memory,
    count,
    told: `The same few calls go round for the ${count}th time, last ${calls}. Do something else.`,
  };
}

function roundsOf(tail: readonly Signed[], period: number): number {
  const last = tail.at(-1);
  if (last === undefined || tail.slice(-period).every(({ signature }) => signature === last.signature)) return 0;
  let length = 0;
  for (let position = tail.length - 1; position >= 0; position -= 1) {
    const here = tail[position];
    const oneRoundOn = tail[position + period];
    if (here?.tree !== last.tree) break;
    if (oneRoundOn !== undefined && oneRoundOn.signature !== here.signature) break;
    length += 1;
  }
  return Math.floor(length / period);
}

/** How often a file came back to what it was before its last change. */
export function countReturns(
  before: Counted<ReadonlyMap<string, PathHistory>>,
  results: readonly CallResult[],
): Counted<ReadonlyMap<string, PathHistory>> {
  const memory = new Map(before.memory);
  let { count, told } = before;
  for (const { path, base, after } of results.flatMap((result) => result.changed)) {
    const { hashes, returns } = memory.get(path) ?? { hashes: [base], returns: 0 };
    if (hashes.at(-1) === after) continue;
    const cameBack = hashes.length > 1 && hashes.at(-2) === after ? returns + 1 : returns;
    memory.set(path, { hashes: [...hashes.slice(-1), after], returns: cameBack });
    if (cameBack <= count) continue;
    count = cameBack;
    told = `\`${path}\` has come back to an earlier content ${count} times. Decide which content is right and why.`;
  }
  return { memory, count, told };
}

/** From this many refused edits of one file in a row, the next needs a reading first (ACI-69). */
const editsBeforeReading = 4;

/** Refused edits of one file in a row. */
export function countRefusedEdits(before: Counted<Edits>, results: readonly CallResult[]): Counted<Edits> {
  const refused = new Map(before.memory.refused);
  const mustRead = new Set(before.memory.mustRead);
  for (const result of results) {
    const path = pathOf(result.call.rawArguments);
    if (path === null) continue;
    if (result.call.name === "read_file" && result.status === "ok") mustRead.delete(path);
    if (result.call.name !== "edit_file") continue;
    const count = refusedAfter(result, refused.get(path) ?? 0);
    refused.set(path, count);
    if (count >= editsBeforeReading) mustRead.add(path);
  }
  const [worst, count] = [...refused].reduce((most, next) => (next[1] > most[1] ? next : most), ["", 0]);
  const told = `${count} edits of \`${worst}\` were refused in a row. Read the lines with read_file first and copy the anchor from them; until then edits of this file are not taken up.`;
  return { memory: { refused, mustRead }, count, told };
}

function refusedAfter({ status, code }: CallResult, count: number): number {
  if (status === "ok") return 0;
  return status === "refused" && code !== "not_executed" ? count + 1 : count;
}

/** Turns with no new region read, no change of the tree and no change in the tests' results. */
export function countIdleTurns(before: Counted<Known>, results: readonly CallResult[]): Counted<Known> {
  const known = before.memory;
  const read = results.filter(({ call, status }) => readers.has(call.name) && status === "ok");
  const regions = new Set([...known.regions, ...read.map(({ resultHash }) => resultHash)]);
  const tree = results.findLast((result) => result.tree !== null)?.tree ?? known.tree;
  const tests = results.findLast(({ call }) => call.name === "run_tests")?.resultHash ?? known.tests;
  const hasChanged = results.some(({ changed }) => changed.length > 0) || (known.tree !== null && tree !== known.tree);
  const isNew = hasChanged || tests !== known.tests || regions.size > known.regions.size;
  const count = isNew ? 0 : before.count + 1;
  const told = `${count} turns brought nothing new: no new lines read, no file changed, no other test result. Make the change, try another way, or call finish.`;
  return { memory: { regions, tests, tree }, count, told };
}

/** Malformed, unknown and truncated calls in a row. */
export function countFormatErrors(before: Counted<null>, results: readonly CallResult[]): Counted<null> {
  let { count, told } = before;
  for (const result of results) {
    if (result.code === "not_executed") continue;
    count = malformed.has(result.code ?? "") ? count + 1 : 0;
    told = `${count} calls in a row could not be read, last ${quote(result)}. After 3 the run ends.`;
  }
  return { memory: null, count, told };
}

/** Commands that timed out in a row. */
export function countTimeouts(before: Counted<null>, results: readonly CallResult[]): Counted<null> {
  let { count, told } = before;
  for (const result of results.filter(({ call, signature }) => runners.has(call.name) && signature !== null)) {
    count = result.code === "timed_out" ? count + 1 : 0;
    told = `${count} commands in a row timed out, last ${quote(result)}. Run something narrower.`;
  }
  return { memory: null, count, told };
}

function start<Memory>(memory: Memory): Counted<Memory> {
  return { memory, count: 0, told: "" };
}

const longestQuote = 120;

function quote({ call }: CallResult): string {
  const shown =
    call.rawArguments.length > longestQuote ? `${call.rawArguments.slice(0, longestQuote)}…` : call.rawArguments;
  return `\`${call.name}${shown}\``;
}
