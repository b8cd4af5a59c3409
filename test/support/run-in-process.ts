import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { createOpenAiModel } from "../../src/agent/index.ts";
import { type CountersignSettings, openRuns } from "../../src/app/index.ts";
import { createRedactor } from "../../src/domain/index.ts";
import { type AskApproval, type RunReport, runLocally } from "../../src/run/index.ts";
import type { Countersign } from "./countersign.ts";
import { visibleText } from "./texts.ts";

const redactor = createRedactor([]);

type Asked = {
  readonly repository: string;
  readonly baseUrl: string;
  readonly silenceMs: number;
  /** Another policy folder, a way to a network. */
  readonly settings?: Partial<CountersignSettings>;
  readonly askApproval?: AskApproval;
};

/** What a model server at this address is asked with: no pause between attempts. */
function settingsOf({ home, environment }: Countersign, { baseUrl, silenceMs, settings }: Omit<Asked, "repository">) {
  const deps = { clock: Date.now, randomBytes, delay: () => Promise.resolve(), redactor };
  return {
    home,
    databaseUrl: environment["DATABASE_URL"] ?? null,
    policiesFolder: resolve(import.meta.dirname, "../../policies/standard"),
    runUids: environment["COUNTERSIGN_RUN_UIDS"] ?? null,
    searchPath: null,
    ...settings,
    model: createOpenAiModel(deps, { baseUrl, apiKey: null, model: "planned", silenceMs }),
    modelName: "planned",
  };
}

const never = new AbortController().signal;

/** A run in this process, with a model that is given up after a silence of the caller's choice. */
export async function runInProcess(countersign: Countersign, asked: Asked): Promise<RunReport> {
  const deps = { clock: Date.now, randomBytes, notice: () => undefined, redactor };
  const hooks = { onEvent: () => undefined, askApproval: asked.askApproval ?? null };
  await using runs = await openRuns(deps, settingsOf(countersign, asked), hooks, never);
  const issue = { title: visibleText("Write a note", "issue_title"), body: visibleText("Write a note"), request: null };
  const requester = { id: "local:test", login: "test", permission: "admin" } as const;
  return await runLocally(runs, { source: { kind: "path", path: asked.repository }, issue, requester }, never);
}

/** Opens all that a run needs, and closes it: what a start says about runs that were left behind. */
export async function settleInProcess(countersign: Countersign): Promise<readonly string[]> {
  const lines: string[] = [];
  const deps = { clock: Date.now, randomBytes, notice: (line: string) => void lines.push(line), redactor };
  const settings = settingsOf(countersign, { baseUrl: "http://127.0.0.1:9/v1", silenceMs: 1 });
  const hooks = { onEvent: () => undefined, askApproval: null };
  await (await openRuns(deps, settings, hooks, never))[Symbol.asyncDispose]();
  return lines;
}
