import type { ExecResult } from "../domain/index.ts";
import type { ActionContext } from "./action-description.ts";
import { byteLines } from "./clean-output.ts";
import { ignoreRuleOf } from "./ignored-path.ts";
import type { Hits } from "./narrowing.ts";
import {
  countArgv,
  countTimeoutMs,
  filesArgv,
  plainPath,
  readFileList,
  runRipgrep,
  type SearchQuery,
  searchArgv,
  searchTimeoutMs,
} from "./ripgrep.ts";
import { type FoundFile, readSearchEvents, type SearchEvents } from "./search-events.ts";
import { decodeWithEscapes } from "./text-bytes.ts";

/** What a search found, all of it counted and the first files in path order with their lines. */
export type SearchFacts = {
  readonly files: readonly FoundFile[];
  readonly hits: readonly Hits[];
  readonly matchesCount: number;
  readonly messages: readonly string[];
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly durationMs: number;
  /** The rule that leaves the searched path out, and that was therefore not applied. */
  readonly ignoredRule: string | null;
  /** For an empty search: where the pattern occurs in ignored files. */
  readonly ignoredHits: readonly Hits[];
};

/** Runs a search and everything that its answer needs to be exact (ACI-21 to ACI-25). */
export async function searchTree(
  context: ActionContext,
  asked: SearchQuery,
  signal: AbortSignal,
): Promise<SearchFacts> {
  const ignoredRule = await ignoreRuleOf(context, asked.path, signal);
  const query = { ...asked, ignoreRules: ignoredRule === null };
  const result = await runRipgrep(context.workspace, searchArgv(query), searchTimeoutMs, signal);
  const seen = await withinRules(context, query, readSearchEvents(result), signal);
  const facts = { ...summed(seen, result), ignoredRule };
  if (result.droppedBytes > 0 && !result.timedOut) return await countedAnew(context, query, facts, signal);
  if (facts.exitCode !== 1 || ignoredRule !== null) return facts;
  return { ...facts, ignoredHits: await hitsInIgnored(context, query, signal) };
}

/** Facts of one finished search of files that ripgrep was given by name. */
export function summed(seen: SearchEvents, result: ExecResult): SearchFacts {
  return {
    files: seen.files,
    hits: seen.files.map((file) => ({ path: file.path, count: file.matchingLines })),
    matchesCount: seen.files.reduce((sum, file) => sum + file.matchesCount, 0),
    messages: seen.messages,
    exitCode: result.exitCode === 0 && seen.files.length === 0 ? 1 : result.exitCode,
    timedOut: result.timedOut,
    durationMs: result.durationMs,
    ignoredRule: null,
    ignoredHits: [],
  };
}

/** A glob that is given lets ripgrep past ignore rules; what they leave out is taken out again. */
async function withinRules(
  context: ActionContext,
  query: SearchQuery,
  seen: SearchEvents,
  signal: AbortSignal,
): Promise<SearchEvents> {
  if (query.include === null || !query.ignoreRules || seen.files.length === 0) return seen;
  const allowed = await filesWithinRules(context, query.path, signal);
  return { ...seen, files: seen.files.filter((file) => allowed.has(file.path)) };
}

export async function filesWithinRules(
  context: ActionContext,
  path: string,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const result = await runRipgrep(context.workspace, filesArgv(null, path, true), searchTimeoutMs, signal);
  return new Set(readFileList(result).paths);
}

/** More was found than is kept of any output: count by file, then search the first files in path order again. */
async function countedAnew(
  context: ActionContext,
  query: SearchQuery,
  facts: SearchFacts,
  signal: AbortSignal,
): Promise<SearchFacts> {
  const counted = await runRipgrep(context.workspace, countArgv(query), searchTimeoutMs, signal);
  const allowed = query.include === null ? null : await filesWithinRules(context, query.path, signal);
  const hits = readCounts(counted).filter((hit) => allowed?.has(hit.path) ?? true);
  const files: FoundFile[] = [];
  for (const hit of hits.slice(0, maxFilesSearchedAnew)) {
    const argv = searchArgv({ ...query, path: hit.path }, maxMatchingLines);
    const again = await runRipgrep(context.workspace, argv, searchTimeoutMs, signal);
    files.push(...readSearchEvents(again).files);
    if (files.reduce((sum, file) => sum + file.matchingLines, 0) >= maxMatchingLines) break;
  }
  const matchesCount = Math.max(
    facts.matchesCount,
    hits.reduce((sum, hit) => sum + hit.count, 0),
  );
  return { ...facts, files, hits, matchesCount, exitCode: counted.exitCode, timedOut: counted.timedOut };
}

/** At most 50 matching lines are shown (ACI-21). */
export const maxMatchingLines = 50;
const maxFilesSearchedAnew = 10;

function readCounts(result: ExecResult): readonly Hits[] {
  const hits: Hits[] = [];
  for (const bytes of byteLines(result.output)) {
    const [path, count] = decodeWithEscapes(bytes).text.split("\0");
    if (path !== undefined && count !== undefined) hits.push({ path: plainPath(path), count: Number(count) });
  }
  return hits.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** An empty search is repeated as a bounded count over what the rules leave out (ACI-25). */
async function hitsInIgnored(
  context: ActionContext,
  query: SearchQuery,
  signal: AbortSignal,
): Promise<readonly Hits[]> {
  const argv = countArgv({ ...query, ignoreRules: false });
  return readCounts(await runRipgrep(context.workspace, argv, countTimeoutMs, signal));
}
