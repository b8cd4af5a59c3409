import { z } from "zod";
import { type JsonObject, type Refusal, visibleJson } from "../../domain/index.ts";
import type { ActionContext, ActionDescription, Executed, Prepared, Presented } from "../action-description.ts";
import { mediaTypeOf } from "../media-type.ts";
import { narrowerPath } from "../narrowing.ts";
import { presentRefusal } from "../refusal-text.ts";
import { badPattern, type Call, invalidArguments, notFound, outsideWorkspace, timedOut } from "../refusals.ts";
import { recordSchema, wholeBody } from "../result-record.ts";
import { bodyBytes, fitBody, resultText } from "../result-text.ts";
import { type SearchQuery, searchArgv, searchTimeoutMs } from "../ripgrep.ts";
import { isPageName } from "../saved-pages.ts";
import { type BinaryFile, searchBody } from "../search-body.ts";
import { readSearchEvents } from "../search-events.ts";
import { maxMatchingLines, type SearchFacts, searchTree, summed } from "../search-tree.ts";
import { maxTextBytes } from "../text-bytes.ts";
import { optional, path } from "./arguments.ts";
import { escapePattern, patternError } from "./pattern-error.ts";

const name = "search_text";

const Arguments = z.strictObject({
  pattern: z.string().min(1).max(4_096),
  path: optional(path),
  include: optional(z.string().min(1).max(1_024)),
  context_lines: optional(z.number().int().min(0).max(5)),
});
type Arguments = z.infer<typeof Arguments>;

type Plan = {
  readonly target: { readonly kind: "page"; readonly name: string } | { readonly kind: "tree" };
  readonly query: SearchQuery;
  /** A path that does not exist, with what is close to it. */
  readonly missing: Refusal | null;
};
type Facts =
  | { readonly kind: "missing"; readonly refusal: Refusal }
  | { readonly kind: "searched"; readonly search: SearchFacts; readonly binaries: readonly BinaryFile[] };

const callOf = (args: Arguments): Call => ({ tool: name, arguments: args });

/** Searches file contents by ripgrep in the sandbox; the pattern is never compiled on the host (ACI-21 to ACI-25). */
export const searchTextAction: ActionDescription<Arguments, Plan, Facts> = {
  name,
  description: `Searches text in files by a regular expression (ripgrep's default engine: no look-around, no back references). path: a file or folder, default all; "out:7" searches kept output. include: one glob such as "*.ts". context_lines: 0-5. Hidden files are searched, .git is not; ignore rules hold unless path itself is ignored. Shows at most ${maxMatchingLines} matching lines with exact totals; narrow the query rather than paging. To find files by name use find_files.`,
  reason: "Finding the place of a fault in a tree too large to read.",
  group: "read",
  risk: "SAFE",
  capabilities: [{ grants: ["read_code"] }],
  place: "sandbox",
  semanticFields: ["pattern", "path", "include"],
  Arguments,
  Record: recordSchema({
    pattern: z.string(),
    path: z.string().nullable(),
    include: z.string().nullable(),
    matching_lines: z.number().int(),
    matches_count: z.number().int(),
    files_count: z.number().int(),
    /** False where the search was stopped: the counts are then lower bounds. */
    exact: z.boolean(),
    ignored_rule: z.string().nullable(),
    ignored_matching_lines: z.number().int(),
  }),
  effects: (args) => [
    { kind: "search_tree" },
    ...(args.path === null || isPageName(args.path) ? [] : [{ kind: "read_path", path: args.path } as const]),
  ],
  prepare,
  execute,
  present,
};

async function prepare(context: ActionContext, args: Arguments): Promise<Prepared<Plan>> {
  const query = {
    pattern: args.pattern,
    include: args.include,
    contextLines: args.context_lines ?? 0,
    path: ".",
    ignoreRules: true,
  };
  const ready = (plan: Plan): Prepared<Plan> => ({ kind: "ready", plan, preconditions: [], intent: {} });
  if (args.path === null) return ready({ target: { kind: "tree" }, query, missing: null });
  if (isPageName(args.path)) return ready({ target: { kind: "page", name: args.path }, query, missing: null });
  const resolution = await context.workspace.resolve(args.path);
  if (resolution.kind === "outside") {
    return { kind: "refused", refusal: outsideWorkspace(callOf(args), args.path, resolution.cause) };
  }
  const isMissing = resolution.class === "absent";
  const missing = isMissing
    ? notFound(callOf(args), args.path, await context.workspace.closeNames(args.path, 3))
    : null;
  return ready({ target: { kind: "tree" }, query: { ...query, path: resolution.resolved || "." }, missing });
}

async function execute(context: ActionContext, plan: Plan, signal: AbortSignal): Promise<Executed<Facts>> {
  if (plan.missing !== null)
    return { facts: { kind: "missing", refusal: plan.missing }, changeSet: null, evidence: { missing: true } };
  const search =
    plan.target.kind === "page"
      ? await searchPage(context, plan.target.name, plan.query, signal)
      : await searchTree(context, plan.query, signal);
  if ("code" in search)
    return { facts: { kind: "missing", refusal: search }, changeSet: null, evidence: { missing: true } };
  const binaries = plan.target.kind === "page" ? [] : await describeBinaries(context, search);
  const evidence = { exit_code: search.exitCode, files_count: search.hits.length, matches_count: search.matchesCount };
  return { facts: { kind: "searched", search, binaries }, changeSet: null, evidence };
}

const pageFile = "output.txt";

/** A page is searched in a sandbox whose work folder holds its copy alone (ACI-11). */
async function searchPage(
  context: ActionContext,
  page: string,
  query: SearchQuery,
  signal: AbortSignal,
): Promise<SearchFacts | Refusal> {
  const bytes = await context.pages.read(page);
  if (bytes === null) {
    const example = {
      tool: name,
      arguments: { pattern: query.pattern, path: null, include: null, context_lines: null },
    };
    return invalidArguments("path", page, "the name of a page that this run has kept", example);
  }
  const argv = searchArgv({ ...query, include: null, path: pageFile });
  const request = { program: { kind: "argv", argv }, timeoutMs: searchTimeoutMs } as const;
  const result = await context.workspace.execApart(new Map([[pageFile, bytes]]), request, signal);
  const seen = readSearchEvents(result);
  return summed({ ...seen, files: seen.files.map((file) => ({ ...file, path: page })) }, result);
}

const maxDescribedBinaries = 10;

async function describeBinaries(context: ActionContext, search: SearchFacts): Promise<readonly BinaryFile[]> {
  const described: BinaryFile[] = [];
  for (const file of search.files.filter(({ isBinary }) => isBinary).slice(0, maxDescribedBinaries)) {
    const read = await context.workspace.readFile(file.path, maxTextBytes);
    const mediaType = read.kind === "file" ? mediaTypeOf(read.bytes) : "application/octet-stream";
    described.push({ path: file.path, mediaType, sizeBytes: "sizeBytes" in read ? read.sizeBytes : null });
  }
  return described;
}

function present(_context: ActionContext, args: Arguments, { facts }: Executed<Facts>): Presented {
  if (facts.kind === "missing") return presentRefusal(facts.refusal, "failed");
  const { search } = facts;
  if (search.timedOut) return presentTimeout(args, facts);
  if (search.exitCode === 1) return presentEmpty(args, search);
  if (search.exitCode === 0) return presentFound(args, facts, "ok", []);
  const flaw = patternError(search.messages.join("\n"), args.pattern);
  if (flaw?.kind === "pattern") {
    return presentRefusal(badPattern(callOf(args), args.pattern, flaw.message, escapePattern(args.pattern)), "failed");
  }
  if (flaw?.kind === "glob") {
    const corrected = { tool: name, arguments: { ...args, include: null } };
    return presentRefusal(
      invalidArguments("include", args.include, `one valid glob (${flaw.message})`, corrected),
      "failed",
    );
  }
  return presentFound(args, facts, "failed", [
    `ripgrep ended with exit code ${search.exitCode}:`,
    ...search.messages.slice(0, 5),
  ]);
}

const whereSearched = (args: Arguments): string =>
  `${args.path === null ? "the whole repository" : `\`${args.path}\``}${args.include === null ? "" : `, files \`${args.include}\``}`;

function presentEmpty(args: Arguments, search: SearchFacts): Presented {
  const ignored = search.ignoredHits.toSorted((a, b) => b.count - a.count)[0];
  const ignoredLines = search.ignoredHits.reduce((sum, hit) => sum + hit.count, 0);
  const next = ignored === undefined ? null : { tool: name, arguments: { ...args, path: ignored.path } };
  const body =
    next === null
      ? []
      : [
          `${ignoredLines} matching lines are in ignored files; most in ${ignored?.path}: search_text ${visibleJson(next.arguments)}`,
        ];
  const rule = search.ignoredRule === null ? "" : ` (ignored by ${search.ignoredRule}; searched without ignore rules)`;
  const essentials = `no match for \`${args.pattern}\` in ${whereSearched(args)}${rule}`;
  const own = { ...ownRecord(args, search), ignored_matching_lines: ignoredLines };
  const record = { ...wholeBody(body.length, body.length === 0 ? 0 : bodyBytes(body)), ...own, next };
  return { status: "empty", text: resultText("empty", essentials, body), record, refusal: null };
}

function ownRecord(args: Arguments, search: SearchFacts): JsonObject {
  return {
    pattern: args.pattern,
    path: args.path,
    include: args.include,
    matching_lines: search.hits.reduce((sum, hit) => sum + hit.count, 0),
    matches_count: search.matchesCount,
    files_count: search.hits.length,
    exact: !search.timedOut,
    ignored_rule: search.ignoredRule,
    ignored_matching_lines: 0,
  };
}

type Searched = Extract<Facts, { kind: "searched" }>;

function presentFound(
  args: Arguments,
  facts: Searched,
  status: "ok" | "failed",
  messages: readonly string[],
): Presented {
  const { search, binaries } = facts;
  const total = search.hits.reduce((sum, hit) => sum + hit.count, 0);
  const narrower = narrowerPath(search.hits);
  const narrowed = narrower === null ? null : { tool: name, arguments: { ...args, path: narrower.path } };
  const advice =
    narrower === null || narrowed === null
      ? "narrow the query: a longer pattern, a path or an include"
      : `narrow the query, for instance: ${narrower.count} of ${narrower.total} are under ${narrower.path}: search_text ${visibleJson(narrowed.arguments)}`;
  const notes = fitBody(messages, { lines: 10, bytes: 2_048 }).body;
  const first = searchBody(search.files, binaries, notes);
  const isAll = first.matchingLines >= total;
  const shown = isAll ? first : searchBody(search.files, binaries, [...notes, `[${advice}]`]);
  const rule =
    search.ignoredRule === null
      ? ""
      : `; the path is ignored by ${search.ignoredRule} and was searched without ignore rules`;
  const atLeast = search.timedOut ? "at least " : "";
  const essentials = `${atLeast}${total} matching lines (${search.matchesCount} matches) in ${search.hits.length} files, ${shown.matchingLines} shown${shown.clippedLines > 0 ? `, ${shown.clippedLines} long lines clipped` : ""}${rule}`;
  return {
    status,
    text: resultText(status, essentials, shown.body),
    record: {
      ...wholeBody(total, bodyBytes(shown.body)),
      shown_lines: shown.matchingLines,
      omitted_lines: total - shown.matchingLines,
      clipped_lines: shown.clippedLines,
      ...ownRecord(args, search),
      next: isAll ? null : narrowed,
    },
    refusal: null,
  };
}

function presentTimeout(args: Arguments, facts: Searched): Presented {
  const limitS = searchTimeoutMs / 1000;
  const refusal = timedOut(callOf(args), { limitS, usedMs: facts.search.durationMs, maximumS: limitS }, []);
  const remedy = "stopped: search a smaller path or a rarer pattern";
  return { ...presentFound(args, facts, "failed", [`timed out after ${limitS} s`, remedy]), refusal };
}
