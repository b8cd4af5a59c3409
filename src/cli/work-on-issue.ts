import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { type UntrustedText, untrusted, type WrittenOrigin } from "../agent/index.ts";
import { CountersignError } from "../domain/index.ts";
import { type IssueTexts, type RunReport, runForPullRequest, runLocally, unsafeIssue } from "../run/index.ts";
import { createAskApproval } from "./ask-approval.ts";
import { type CliDeps, printJson, type RunHooks } from "./cli-deps.ts";
import { patchText } from "./patch-text.ts";
import { createProgress } from "./progress.ts";
import { reportJson, reportText } from "./run-report-view.ts";

/** What `run` was asked. */
export type RunOptions = {
  readonly repo: string;
  readonly issue: string;
  readonly openPr?: true;
  readonly json?: true;
};

/** Does the whole job of `run` and prints its end. Answers with the exit code. */
export async function workOnIssue(deps: CliDeps, options: RunOptions): Promise<number> {
  const issue = await readIssue(resolve(deps.folder, options.issue), options.issue);
  const report = await (options.openPr ? openPullRequest(deps, options, issue) : workLocally(deps, options, issue));
  if (options.json) printJson(deps.terminal, reportJson(report));
  else deps.terminal.out(patchText(deps.terminal, report.patch) + reportText(report));
  return report.conclusion === "success" ? 0 : 1;
}

const hooksOf = ({ terminal, clock }: CliDeps): RunHooks => ({
  onEvent: createProgress(terminal, clock),
  askApproval: createAskApproval(terminal),
});

async function workLocally(deps: CliDeps, options: RunOptions, { texts }: Issue): Promise<RunReport> {
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(options.repo);
  const source = isUrl
    ? ({ kind: "url", url: options.repo } as const)
    : ({ kind: "path", path: resolve(deps.folder, options.repo) } as const);
  await using runs = await deps.openRuns(hooksOf(deps));
  return await runLocally(runs, { source, issue: texts, requester: deps.requester }, deps.signal);
}

async function openPullRequest(deps: CliDeps, options: RunOptions, issue: Issue): Promise<RunReport> {
  await using runs = await deps.openPublishing(options.repo, hooksOf(deps));
  const { repository } = runs;
  const { texts, textDigest } = issue;
  const request = { repository, issue: texts, textDigest, requester: deps.requester };
  return await runForPullRequest(runs, request, deps.signal);
}

const largestIssueBytes = 256 * 1024;

type Issue = {
  readonly texts: IssueTexts;
  /** SHA-256 of the file, lower-case hex. */
  readonly textDigest: string;
};

/** The first line that is not blank is the title, a heading's marks taken off; the whole file is the body. */
async function readIssue(path: string, typed: string): Promise<Issue> {
  const text = await readIssueFile(path, typed);
  const body = visibleText(text, "issue_body");
  const lines = body.text.split("\n").map((line) => line.replace(/^\s*#+(\s+|$)/, "").trim());
  const firstLine = lines.find((line) => line !== "");
  if (firstLine === undefined)
    throw new CountersignError("ISSUE_EMPTY", `the issue file \`${typed}\` has no text that is shown`);
  const textDigest = createHash("sha256").update(text).digest("hex");
  return { texts: { title: visibleText(firstLine, "issue_title"), body, request: null }, textDigest };
}

function visibleText(text: string, kind: WrittenOrigin["kind"]): UntrustedText {
  const read = untrusted(text, { kind, authorId: null, authorCanWrite: true, host: null });
  if (read.kind === "unreadable") throw unsafeIssue(read);
  return read;
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
