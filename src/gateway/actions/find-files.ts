import { z } from "zod";
import { type JsonObject, type Refusal, visibleJson } from "../../domain/index.ts";
import type { ActionContext, ActionDescription, Executed, Prepared, Presented } from "../action-description.ts";
import { ignoreRuleOf } from "../ignored-path.ts";
import { narrowerPath } from "../narrowing.ts";
import { presentRefusal } from "../refusal-text.ts";
import { badPattern, type Call, notFound, outsideWorkspace, timedOut } from "../refusals.ts";
import { recordSchema, wholeBody } from "../result-record.ts";
import { bodyBytes, fitBody, resultText, standardCaps } from "../result-text.ts";
import { countTimeoutMs, filesArgv, readFileList, runRipgrep, searchTimeoutMs } from "../ripgrep.ts";
import { filesWithinRules } from "../search-tree.ts";
import { optional, path } from "./arguments.ts";
import { escapeGlob, patternError } from "./pattern-error.ts";

const name = "find_files";
const maxPaths = 50;

const Arguments = z.strictObject({ glob: z.string().min(1).max(1_024), path: optional(path) });
type Arguments = z.infer<typeof Arguments>;

type Plan = { readonly glob: string; readonly path: string; readonly missing: Refusal | null };
type Facts = {
  readonly paths: readonly string[];
  readonly messages: readonly string[];
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly durationMs: number;
  readonly ignoredRule: string | null;
  readonly ignoredPaths: readonly string[];
  readonly missing: Refusal | null;
};

const callOf = (args: Arguments): Call => ({ tool: name, arguments: args });

/** Finds files by name, by ripgrep in the sandbox, so that there is one reading of ignore rules and globs (ACI-26). */
export const findFilesAction: ActionDescription<Arguments, Plan, Facts> = {
  name,
  description: `Finds files by a glob on their path from the repository's root, such as "**/*.test.ts" or "src/**/config.*"; a glob without "/" matches names at any depth. path: a folder to look in. Hidden files are found, .git is not; ignore rules hold unless path itself is ignored. Shows at most ${maxPaths} paths with the exact total. To find text use search_text.`,
  reason: "Knowing which files there are, before one can be read.",
  group: "read",
  risk: "SAFE",
  capabilities: [{ grants: ["read_code"] }],
  place: "sandbox",
  semanticFields: ["glob", "path"],
  Arguments,
  Record: recordSchema({
    glob: z.string(),
    path: z.string().nullable(),
    files_count: z.number().int(),
    exact: z.boolean(),
    ignored_rule: z.string().nullable(),
    ignored_files_count: z.number().int(),
  }),
  effects: (args) => [
    { kind: "search_tree" },
    ...(args.path === null ? [] : [{ kind: "read_path", path: args.path } as const]),
  ],
  prepare,
  execute,
  present,
};

async function prepare(context: ActionContext, args: Arguments): Promise<Prepared<Plan>> {
  const ready = (plan: Plan): Prepared<Plan> => ({ kind: "ready", plan, preconditions: [], intent: {} });
  if (args.path === null) return ready({ glob: args.glob, path: ".", missing: null });
  const resolution = await context.workspace.resolve(args.path);
  if (resolution.kind === "outside") {
    return { kind: "refused", refusal: outsideWorkspace(callOf(args), args.path, resolution.cause) };
  }
  const isMissing = resolution.class === "absent";
  const missing = isMissing
    ? notFound(callOf(args), args.path, await context.workspace.closeNames(args.path, 3))
    : null;
  return ready({ glob: args.glob, path: resolution.resolved || ".", missing });
}

const nothing = {
  paths: [],
  messages: [],
  exitCode: 1,
  timedOut: false,
  durationMs: 0,
  ignoredRule: null,
  ignoredPaths: [],
};

async function execute(context: ActionContext, plan: Plan, signal: AbortSignal): Promise<Executed<Facts>> {
  const facts = plan.missing === null ? await find(context, plan, signal) : { ...nothing, missing: plan.missing };
  return { facts, changeSet: null, evidence: { exit_code: facts.exitCode, files_count: facts.paths.length } };
}

async function find(context: ActionContext, plan: Plan, signal: AbortSignal): Promise<Facts> {
  const ignoredRule = await ignoreRuleOf(context, plan.path, signal);
  const argv = filesArgv(plan.glob, plan.path, ignoredRule === null);
  const result = await runRipgrep(context.workspace, argv, searchTimeoutMs, signal);
  const { paths, messages } = readFileList(result);
  const allowed = ignoredRule === null && paths.length > 0 ? await filesWithinRules(context, plan.path, signal) : null;
  const found = paths.filter((candidate) => allowed?.has(candidate) ?? true).toSorted();
  const isEmpty = found.length === 0 && (result.exitCode === 0 || result.exitCode === 1);
  const exitCode = isEmpty ? 1 : result.exitCode;
  const ignoredPaths = isEmpty && ignoredRule === null ? await findIgnored(context, plan, signal) : [];
  const { timedOut: isTimedOut, durationMs } = result;
  return {
    paths: found,
    messages,
    exitCode,
    timedOut: isTimedOut,
    durationMs,
    ignoredRule,
    ignoredPaths,
    missing: null,
  };
}

async function findIgnored(context: ActionContext, plan: Plan, signal: AbortSignal): Promise<readonly string[]> {
  const argv = filesArgv(plan.glob, plan.path, false);
  return readFileList(await runRipgrep(context.workspace, argv, countTimeoutMs, signal)).paths.toSorted();
}

function present(_context: ActionContext, args: Arguments, { facts }: Executed<Facts>): Presented {
  if (facts.missing !== null) return presentRefusal(facts.missing, "failed");
  if (facts.timedOut) {
    const limitS = searchTimeoutMs / 1000;
    const refusal = timedOut(callOf(args), { limitS, usedMs: facts.durationMs, maximumS: limitS }, []);
    return { ...presentFound(args, facts, "failed", [`timed out after ${limitS} s: look in a smaller path`]), refusal };
  }
  if (facts.exitCode === 1) return presentEmpty(args, facts);
  if (facts.exitCode === 0) return presentFound(args, facts, "ok", []);
  const flaw = patternError(facts.messages.join("\n"), args.glob);
  if (flaw !== null) {
    return presentRefusal(
      badPattern(callOf(args), args.glob, `error: ${flaw.message}`, escapeGlob(args.glob)),
      "failed",
    );
  }
  return presentFound(args, facts, "failed", [
    `ripgrep ended with exit code ${facts.exitCode}:`,
    ...facts.messages.slice(0, 5),
  ]);
}

const ownRecord = (args: Arguments, facts: Facts): JsonObject => ({
  glob: args.glob,
  path: args.path,
  files_count: facts.paths.length,
  exact: !facts.timedOut,
  ignored_rule: facts.ignoredRule,
  ignored_files_count: facts.ignoredPaths.length,
});

const ruleText = (facts: Facts): string =>
  facts.ignoredRule === null
    ? ""
    : `; the path is ignored by ${facts.ignoredRule} and was searched without ignore rules`;

function presentEmpty(args: Arguments, facts: Facts): Presented {
  const folder = facts.ignoredPaths[0]?.split("/").slice(0, -1).join("/") ?? "";
  const next = folder === "" ? null : { tool: name, arguments: { ...args, path: folder } };
  const told = `${facts.ignoredPaths.length} ignored files match, the first is ${facts.ignoredPaths[0]}`;
  const how = next === null ? "" : `: find_files ${visibleJson(next.arguments)}`;
  const body = facts.ignoredPaths.length === 0 ? [] : [told + how];
  const where = args.path === null ? "the whole repository" : `\`${args.path}\``;
  const text = resultText("empty", `no file matches \`${args.glob}\` in ${where}${ruleText(facts)}`, body);
  const counts = wholeBody(body.length, body.length === 0 ? 0 : bodyBytes(body));
  return { status: "empty", text, record: { ...counts, ...ownRecord(args, facts), next }, refusal: null };
}

function presentFound(args: Arguments, facts: Facts, status: "ok" | "failed", messages: readonly string[]): Presented {
  const total = facts.paths.length;
  const narrower = narrowerPath(facts.paths.map((found) => ({ path: found, count: 1 })));
  const isFolder = narrower !== null && narrower.count > 1;
  const narrowed = isFolder ? { tool: name, arguments: { ...args, path: narrower.path } } : null;
  const advice =
    narrowed === null
      ? "[narrow the query: a longer glob or a path]"
      : `[narrow the query, for instance: ${narrower?.count} of ${total} are under ${narrower?.path}: find_files ${visibleJson(narrowed.arguments)}]`;
  const notes = [...messages, ...(total > maxPaths ? [advice] : [])];
  const fitted = fitBody(facts.paths.slice(0, maxPaths), standardCaps, notes);
  const atLeast = facts.timedOut ? "at least " : "";
  return {
    status,
    text: resultText(status, `${atLeast}${total} files, ${fitted.shownLines} shown${ruleText(facts)}`, [
      ...fitted.body,
      ...notes,
    ]),
    record: {
      ...wholeBody(total, bodyBytes([...fitted.body, ...notes])),
      shown_lines: fitted.shownLines,
      omitted_lines: total - fitted.shownLines,
      clipped_lines: fitted.clippedLines,
      ...ownRecord(args, facts),
      next: fitted.shownLines < total ? narrowed : null,
    },
    refusal: null,
  };
}
