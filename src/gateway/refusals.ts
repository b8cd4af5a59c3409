import type { ErrorCode, JsonObject, Refusal, RefusalCode } from "../domain/index.ts";

/** The call that is refused, as the model made it. */
export type Call = { readonly tool: string; readonly arguments: JsonObject };

type Parts = {
  readonly received: string;
  readonly allowed: string;
  readonly remedy: string;
  readonly example?: Refusal["example"];
  readonly attachment?: string;
};

/** Every refusal is made here, so that none lacks a part (ACI-13). */
function refusal(code: RefusalCode, parts: Parts): Refusal {
  return { code, example: null, attachment: "", ...parts };
}

const quoted = (value: unknown): string => {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
  return `\`${text.length > 200 ? `${text.slice(0, 200)}…` : text}\``;
};
const listed = (names: readonly string[]): string => names.map(quoted).join(", ");
const readCall = (path: string, lineFrom: number | null = null, lineCount: number | null = null) => ({
  tool: "read_file",
  arguments: { path, line_from: lineFrom, line_count: lineCount },
});
const findCall = (glob: string, path: string | null) => ({ tool: "find_files", arguments: { glob, path } });
const commandCall = (command: string) => ({ tool: "run_command", arguments: { command, timeout_s: null } });
const withArguments = (call: Call, changed: JsonObject) => ({
  tool: call.tool,
  arguments: { ...call.arguments, ...changed },
});

/** `closest` is a call of the tool whose name is nearest, its arguments filled in as far as they fit. */
export const unknownTool = (name: string, names: readonly string[], closest: Call): Refusal =>
  refusal("unknown_tool", {
    received: `there is no tool ${quoted(name)}`,
    allowed: `the tools are ${listed(names)}`,
    remedy: `call ${quoted(closest.tool)} if that is what you meant`,
    example: closest,
  });

/** One field that does not fit: `expected` is its type or range in words. */
export const invalidArguments = (
  field: string,
  value: unknown,
  expected: string,
  corrected: Refusal["example"],
): Refusal =>
  refusal("invalid_arguments", {
    received: `field ${quoted(field)} is ${value === undefined ? "missing" : quoted(value)}`,
    allowed: expected,
    remedy: `send the call again with ${quoted(field)} corrected`,
    example: corrected,
  });

export const outsideWorkspace = (call: Call, path: string, cause: string): Refusal =>
  refusal("outside_workspace", {
    received: `path ${quoted(path)} leads outside the repository (${cause})`,
    allowed: "a path relative to the repository's root, with `/`, that stays inside it",
    remedy: "name the file by its place in the repository; `find_files` lists what there is",
    example: insideCall(call, path),
  });

/** The same call with the path made relative, as far as that can be told from its text. */
function insideCall(call: Call, path: string): Refusal["example"] {
  const parts = path.split(/[/\\]+/).filter((part) => part !== "" && part !== "." && part !== "..");
  const inside = parts[0] === "workspace" ? parts.slice(1) : parts;
  return withArguments(call, { path: inside.length === 0 ? "README.md" : inside.join("/") });
}

export const notFound = (call: Call, path: string, close: readonly string[]): Refusal => {
  const first = close[0];
  const name = path.split("/").at(-1) ?? path;
  return refusal("not_found", {
    received: `there is no ${quoted(path)}`,
    allowed: close.length === 0 ? "an existing path; no name is close to it" : `close names are ${listed(close)}`,
    remedy: first === undefined ? "look for the file by its name" : "use the closest name if that is what you meant",
    example: first === undefined ? findCall(`**/${name}`, null) : withArguments(call, { path: first }),
  });
};

/** `lastWindow` is the first line of the last window that exists. */
export const lineOutOfRange = (path: string, asked: number, totalLines: number, lastWindow: number): Refusal =>
  refusal("line_out_of_range", {
    received: `line ${asked} of ${quoted(path)}`,
    allowed: `the file has ${totalLines} lines`,
    remedy: "read the last window of the file",
    example: readCall(path, lastWindow),
  });

export const notRead = (path: string, region: Region): Refusal =>
  refusal("not_read", {
    received: `${quoted(path)} was not read in this run; a search hit doesn't count as reading`,
    allowed: "a change of a file whose present content was read by `read_file`",
    remedy: "read the region, then send the call again",
    example: readCall(path, region.lineFrom, region.lineCount),
  });

export type Region = { readonly lineFrom: number | null; readonly lineCount: number | null };

/** `by` says who changed it: an action and its turn, or "outside this run". `attachment` is the diff and the fresh region. */
export const changedSinceRead = (path: string, by: string, region: Region, attachment: string): Refusal =>
  refusal("changed_since_read", {
    received: `${quoted(path)} has changed since it was read: ${by}`,
    allowed: "a change of the file's present content",
    remedy: "look at the difference, read the region again, then send the change again as it fits now",
    example: readCall(path, region.lineFrom, region.lineCount),
    attachment,
  });

export const deletedSinceRead = (call: Call, path: string, by: string): Refusal =>
  refusal("deleted_since_read", {
    received: `${quoted(path)} was deleted since it was read: ${by}`,
    allowed: "a change of a file that exists",
    remedy: "check whether the file has moved; create it again only if it is still wanted",
    example: findCall(`**/${path.split("/").at(-1) ?? path}`, null),
    attachment: call.tool === "edit_file" ? "" : `nothing is left for ${call.tool} to do`,
  });

/** What is known about an anchor that does not occur. */
export type AnchorMiss = {
  readonly index: number;
  readonly firstLine: string;
  /** For instance "it differs only in leading whitespace"; empty where nothing is known. */
  readonly hint: string;
  readonly nearest: readonly { readonly line: number; readonly text: string }[];
  /** The edit with the code points for which hidden ones' escapes were copied; null where that is not the trouble. */
  readonly meant: { readonly anchor: string; readonly replacement: string } | null;
};

/** `meant` is the call with code points in the place of escapes, where that would do. */
export const anchorNotFound = (path: string, miss: AnchorMiss, meant: Refusal["example"]): Refusal => {
  const near = miss.nearest[0];
  const lines = miss.nearest.map((real) => `${real.line}\t${real.text}`).join("\n");
  return refusal("anchor_not_found", {
    received: `edit ${miss.index + 1}: the anchor that begins ${quoted(miss.firstLine)} does not occur in ${quoted(path)}${miss.hint === "" ? "" : `; ${miss.hint}`}`,
    allowed: "text that stands in the file exactly so, spaces and tabs included",
    remedy:
      meant === null
        ? "copy the anchor from the text that `read_file` shows, without the line numbers"
        : "write each hidden code point by JSON's own escape, as the example does",
    example:
      meant ?? readCall(path, near === undefined ? null : Math.max(1, near.line - 10), near === undefined ? null : 40),
    attachment: lines === "" ? "" : `nearest lines in the file (advice only):\n${lines}`,
  });
};

/** `widened` is the call with the anchor grown by neighbouring lines until it is unique. */
export const anchorAmbiguous = (
  path: string,
  place: { readonly index: number; readonly count: number; readonly lines: readonly number[] },
  widened: Refusal["example"],
): Refusal =>
  refusal("anchor_ambiguous", {
    received: `edit ${place.index + 1}: the anchor occurs ${place.count} times in ${quoted(path)}, at lines ${place.lines.join(", ")}${place.count > place.lines.length ? ", …" : ""}`,
    allowed: "an anchor that occurs exactly once",
    remedy: "widen the anchor by a neighbouring line of the place you mean (the example means the first place)",
    example: widened,
  });

export const alreadyPresent = (path: string, turn: number, actionId: string, lines: string): Refusal =>
  refusal("already_present", {
    received: `these edits of ${quoted(path)} were applied in turn ${turn} (action ${actionId}) and stand at lines ${lines}`,
    allowed: "edits that are not in the file yet",
    remedy: "there is nothing to do; if a second copy is meant, use a longer anchor that tells the place apart",
    example: readCall(path, Number.parseInt(lines, 10) || null, 40),
  });

const validEdit = (path: string) => ({
  tool: "edit_file",
  arguments: { path, edits: [{ anchor: "text as it stands in the file", replacement: "text as it should be" }] },
});

export const anchorEmpty = (path: string, index: number): Refusal =>
  refusal("anchor_empty", {
    received: `edit ${index + 1}: the anchor is empty`,
    allowed: "an anchor of at least one character; an empty replacement deletes; `create_file` makes an empty file",
    remedy: "name the text beside the place where something is to be inserted, and repeat it in the replacement",
    example: validEdit(path),
  });

export const noChange = (path: string, index: number): Refusal =>
  refusal("no_change", {
    received: `edit ${index + 1}: anchor and replacement are equal`,
    allowed: "a replacement that differs from its anchor",
    remedy: "leave this edit out, or say in the replacement what should stand there",
    example: validEdit(path),
  });

/** `finish` without any change asks once whether that is meant (ACI-31). */
export const nothingChanged = (call: Call): Refusal =>
  refusal("no_change", {
    received: "the run has changed no file",
    allowed: "`finish` after a change, or `finish` again if no change is meant",
    remedy: "make the change first; if there is nothing to change, call `finish` again and say why in the summary",
    example: { tool: call.tool, arguments: call.arguments },
  });

export const editsOverlap = (path: string, first: number, second: number): Refusal =>
  refusal("edits_overlap", {
    received: `edits ${first + 1} and ${second + 1} of ${quoted(path)} touch the same text`,
    allowed: "edits of one call whose anchors don't share a character; all are found in the text as it was before",
    remedy: "join the two into one edit",
    example: validEdit(path),
  });

/** `escaped` is the pattern with its special characters escaped. */
export const badPattern = (call: Call, pattern: string, engineMessage: string, escaped: string): Refusal =>
  refusal("bad_pattern", {
    received: `pattern ${quoted(pattern)}: ${engineMessage}`,
    allowed: "a regular expression of ripgrep's default engine (no look-around, no back references), or a glob",
    remedy: "escape the characters that are meant literally",
    example: withArguments(call, { [call.tool === "find_files" ? "glob" : "pattern"]: escaped }),
  });

export const timedOut = (
  call: Call,
  time: { readonly limitS: number; readonly usedMs: number; readonly maximumS: number },
  killed: readonly string[],
): Refusal => {
  const larger = Math.min(time.limitS * 2, time.maximumS);
  const hasTimeout = call.tool === "run_command";
  return refusal("timed_out", {
    received: `stopped at its limit of ${time.limitS} s after ${time.usedMs} ms; killed: ${killed.length === 0 ? "the command and all it had started" : killed.join(", ")}`,
    allowed: hasTimeout ? `timeout_s from 1 to ${time.maximumS}` : `a call that ends within ${time.limitS} s`,
    remedy: hasTimeout ? "ask for more time, or run a narrower command" : "ask for less in one call",
    example: hasTimeout ? withArguments(call, { timeout_s: larger }) : { tool: call.tool, arguments: call.arguments },
  });
};

export const outcomeLost = (call: Call, actionId: string): Refusal =>
  refusal("outcome_lost", {
    received: `the outcome of action ${actionId} (${call.tool}) was never recorded: its worker ended or the log was unavailable`,
    allowed: "the workspace was restored to the state before it",
    remedy: "send the same call again if it is still wanted",
    example: { tool: call.tool, arguments: call.arguments },
  });

/** The arguments end before their JSON does. `outputLimitTokens` is null where the server didn't tell why. */
export const truncatedCall = (tool: string, receivedCharacters: number, outputLimitTokens: number | null): Refusal =>
  refusal("truncated_call", {
    received: `the arguments of ${quoted(tool)} end after ${receivedCharacters} characters, before their JSON does`,
    allowed: outputLimitTokens === null ? "complete JSON" : `an answer of at most ${outputLimitTokens} output tokens`,
    remedy:
      "send the call again in smaller pieces: several edits, or a first part by `create_file` and the rest by `edit_file`",
  });

/** `cause` for instance "the call before it has an unknown outcome" or "a turn has at most 16 calls". */
export const notExecuted = (call: Call | null, cause: string): Refusal =>
  refusal("not_executed", {
    received: `not executed: ${cause}`,
    allowed: "calls that can start in their turn",
    remedy: "send the call again in a later turn if it is still wanted",
    example: call === null ? null : { tool: call.tool, arguments: call.arguments },
  });

/** `call`: null where nothing is known of its arguments. */
export const auditUnavailable = (call: Call | null): Refusal =>
  refusal("audit_unavailable", {
    received: "the action could not be recorded, so it was not executed",
    allowed: "actions that are on record before they run",
    remedy: "send the call again later",
    example: call === null ? null : { tool: call.tool, arguments: call.arguments },
  });

export const approvalUnavailable = (rule: string): Refusal =>
  refusal("approval_unavailable", {
    received: `rule ${quoted(rule)} asks for a person's approval, and nobody can be asked in this run`,
    allowed: "actions that need no approval",
    remedy: "don't retry; reach the goal another way, or say in the `finish` summary what is left for a person",
  });

export const noTestCommand = (): Refusal =>
  refusal("no_test_command", {
    received: "the repository's settings name no `verify` command",
    allowed: "`run_tests` where `.github/countersign.yml` has a `verify` command",
    remedy: "run the tests by `run_command`",
    example: commandCall("make test"),
  });

/** The settings don't say how a filter is passed to the verify command. */
export const noTestFilter = (filter: string, command: string): Refusal =>
  refusal("no_test_command", {
    received: `filter ${quoted(filter)}: the repository's settings don't say how the verify command takes a filter`,
    allowed: "`run_tests` without a filter; a setting `verify_filter` would allow one",
    remedy: "run the part you want by `run_command`, or all tests by `run_tests` with filter null",
    example: commandCall(`${command} ${shellWord(filter)}`),
  });

/** A word that the shell takes literally. */
export const shellWord = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

export const noSandbox = (part: string): Refusal =>
  refusal("no_sandbox", {
    received: `the sandbox can't be started: ${part}`,
    allowed: "commands in the sandbox only; nothing ever runs outside it",
    remedy: "none: the run ends, and the operator mends what `countersign doctor --sandbox` names",
  });

export const alreadyExists = (path: string, sizeBytes: number): Refusal =>
  refusal("already_exists", {
    received: `${quoted(path)} exists already, with ${sizeBytes} bytes`,
    allowed: "a path that does not exist yet",
    remedy: "read the file, then change it by `edit_file`",
    example: readCall(path),
  });

/** `attachment` holds windows of the old and of the proposed text. */
export const syntaxError = (
  call: Call,
  place: { readonly line: number; readonly column: number; readonly node: string },
  attachment: string,
): Refusal =>
  refusal("syntax_error", {
    received: `the edit would bring a syntax error at line ${place.line}, column ${place.column} (${place.node})`,
    allowed: "text that parses at least as well as before",
    remedy: "send the edit again with the error mended; a file that is meant to be broken is written by `run_command`",
    example: { tool: call.tool, arguments: call.arguments },
    attachment,
  });

/** `offset` is the first byte that can't be decoded; null where the content is binary. */
export const notText = (
  path: string,
  about: { readonly mediaType: string; readonly sizeBytes: number; readonly offset: number | null },
): Refusal =>
  refusal("not_text", {
    received: `${quoted(path)} is ${about.mediaType} of ${about.sizeBytes} bytes${about.offset === null ? "" : `; byte ${about.offset} can't be decoded`}`,
    allowed: "text in UTF-8, or in UTF-16 with a byte order mark; it is never mended silently",
    remedy: about.mediaType.startsWith("image/") ? "look at it by `view_image`" : "change it by a program of your own",
    example: commandCall(`file ${shellWord(path)}; head -c 256 ${shellWord(path)} | od -c`),
  });

export const tooLarge = (path: string, sizeBytes: number, limitBytes: number): Refusal =>
  refusal("too_large", {
    received: `${quoted(path)} has ${sizeBytes} bytes`,
    allowed: `at most ${limitBytes} bytes`,
    remedy: "search it by `search_text`, or take the part you need by `run_command`",
    example: { tool: "search_text", arguments: { pattern: "TODO", path, include: null, context_lines: null } },
  });

/** Content for a new file beyond the cap of `create_file`. */
export const contentTooLarge = (call: Call, sizeBytes: number, limitBytes: number, firstPart: string): Refusal =>
  refusal("too_large", {
    received: `the content has ${sizeBytes} bytes`,
    allowed: `at most ${limitBytes} bytes in one call`,
    remedy: "create a first part and extend it with `edit_file`",
    example: withArguments(call, { content: firstPart }),
  });

/** `instead` is what the deciding policies advise; empty where nothing is allowed instead. */
export const policyDenied = (policyIds: readonly string[], reason: string, instead: string): Refusal =>
  refusal("policy_denied", {
    received: `denied by ${policyIds.length === 0 ? "the default (no policy permits it)" : listed(policyIds)}: ${reason}`,
    allowed: instead === "" ? "nothing instead of it" : instead,
    remedy: instead === "" ? "don't retry; go on without it" : "do what is allowed instead; don't retry this call",
  });

export const approvalDenied = (policyIds: readonly string[], reason: string): Refusal =>
  refusal("approval_denied", {
    received: `a person denied the approval that ${listed(policyIds)} asks for: ${reason === "" ? "no reason given" : quoted(reason)}`,
    allowed: "what needs no approval",
    remedy: "don't retry; go on as the reason says",
  });

export const approvalExpired = (policyIds: readonly string[], waitedFor: string): Refusal =>
  refusal("approval_expired", {
    received: `nobody gave the approval that ${listed(policyIds)} asks for within ${waitedFor}`,
    allowed: "what needs no approval",
    remedy: "don't retry; go on without it, and say in the `finish` summary what is left for a person",
  });

export const budgetExceeded = (
  limit: string,
  amounts: { readonly limit: number; readonly used: number; readonly asked: number },
  smaller: Refusal["example"],
): Refusal =>
  refusal("budget_exceeded", {
    received: `${limit}: asked ${amounts.asked}, used ${amounts.used} of ${amounts.limit}`,
    allowed: `at most ${Math.max(0, amounts.limit - amounts.used)} more`,
    remedy: "ask for less, or end the run with `finish`",
    example: smaller,
  });

/** A write to GitHub that was not done. The foreign message of the error stays out: it may hold anything (AUD-83). */
export const githubFailed = (tool: string, error: { readonly code: ErrorCode; readonly remedy: string }): Refusal =>
  refusal("github_failed", {
    received: `${tool} was not done on GitHub: ${error.code}`,
    allowed: "writes that GitHub accepts from the App in this repository",
    remedy: error.remedy,
  });
