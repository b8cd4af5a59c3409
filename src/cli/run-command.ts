import { isUtf8 } from "node:buffer";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { CountersignError, type UntrustedText, untrusted } from "../domain/index.ts";
import { runLocally } from "../run/index.ts";
import { createAskApproval } from "./ask-approval.ts";
import { type CliDeps, printJson } from "./cli-deps.ts";
import { patchText } from "./patch-text.ts";
import { createProgress } from "./progress.ts";
import { reportJson, reportText } from "./run-report-view.ts";

type RunOptions = { readonly repo: string; readonly issue: string; readonly openPr?: true; readonly json?: true };

export function addRunCommand(program: Command, deps: CliDeps, finish: (exitCode: number) => void): void {
  program
    .command("run")
    .description("work on an issue in a repository, without a GitHub, and print the patch and the action table")
    .requiredOption("--repo <path|url>", "a git repository: a folder, or an https address")
    .requiredOption("--issue <file.md>", "the issue: a Markdown file, its first line the title")
    .option("--open-pr", "open a pull request (comes with the GitHub App)")
    .option("--json", "print one JSON object at the end")
    .action(async (options: RunOptions) => finish(await run(deps, options)));
}

async function run(deps: CliDeps, options: RunOptions): Promise<number> {
  if (options.openPr) {
    throw new CountersignError("USAGE", "`--open-pr` is not there yet: this version works on local repositories", {
      remedy: "leave it out and apply the patch that `run` prints",
    });
  }
  const issue = await readIssue(resolve(deps.folder, options.issue), options.issue);
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(options.repo);
  const source = isUrl
    ? ({ kind: "url", url: options.repo } as const)
    : ({ kind: "path", path: resolve(deps.folder, options.repo) } as const);
  await using runs = await deps.openRuns({
    onEvent: createProgress(deps.terminal, deps.clock),
    askApproval: createAskApproval(deps.terminal),
  });
  const report = await runLocally(runs, { source, issue, requester: deps.requester }, deps.signal);
  if (options.json) printJson(deps.terminal, reportJson(report));
  else deps.terminal.out(patchText(deps.terminal, report.patch) + reportText(report));
  return report.conclusion === "success" ? 0 : 1;
}

const largestIssueBytes = 256 * 1024;

/** The first line that is not blank is the title, a heading's marks taken off; the whole file is the body. */
async function readIssue(
  path: string,
  typed: string,
): Promise<{ readonly title: UntrustedText; readonly body: UntrustedText }> {
  const origin = { authorId: null, authorCanWrite: true } as const;
  const body = untrusted(await readIssueFile(path, typed), { kind: "issue_body", ...origin });
  const lines = body.text.split("\n").map((line) => line.replace(/^\s*#+(\s+|$)/, "").trim());
  const firstLine = lines.find((line) => line !== "");
  if (firstLine === undefined) throw new CountersignError("ISSUE_EMPTY", `the issue file \`${typed}\` has no text`);
  return { title: untrusted(firstLine, { kind: "issue_title", ...origin }), body };
}

async function readIssueFile(path: string, typed: string): Promise<string> {
  const bytes = await readAtMost(path, largestIssueBytes + 1).catch((cause: unknown) => {
    throw new CountersignError("ISSUE_UNREADABLE", `the issue file \`${typed}\` can't be read`, { cause });
  });
  if (bytes.byteLength > largestIssueBytes) {
    throw new CountersignError("ISSUE_UNREADABLE", `the issue file \`${typed}\` has more than 256 KiB`);
  }
  if (!isUtf8(bytes)) throw new CountersignError("ISSUE_UNREADABLE", `the issue file \`${typed}\` is not UTF-8 text`);
  return bytes.toString("utf8");
}

/** The first bytes of a file: one without an end, such as a device, ends here too. */
async function readAtMost(path: string, count: number): Promise<Buffer> {
  await using file = await open(path, "r");
  const bytes = Buffer.alloc(count);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(bytes, length, count - length, null);
    length += bytesRead;
    if (bytesRead === 0 || length === count) return bytes.subarray(0, length);
  }
}
