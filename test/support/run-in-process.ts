import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { createOpenAiModel } from "../../src/agent/index.ts";
import { openRuns } from "../../src/app/index.ts";
import { untrusted } from "../../src/domain/index.ts";
import { type RunEvent, type RunReport, runLocally } from "../../src/run/index.ts";
import type { Countersign } from "./countersign.ts";

/** A run in this process, with a model that is given up soon: no pause between attempts, a short silence. */
export async function runInProcess(
  { home, environment }: Countersign,
  asked: { readonly repository: string; readonly baseUrl: string; readonly silenceMs: number },
  onEvent: (event: RunEvent) => void = () => undefined,
): Promise<RunReport> {
  const deps = { clock: Date.now, randomBytes, notice: () => undefined };
  const options = { baseUrl: asked.baseUrl, apiKey: null, model: "planned", silenceMs: asked.silenceMs };
  const settings = {
    home,
    databaseUrl: environment["DATABASE_URL"] ?? null,
    policiesFolder: resolve(import.meta.dirname, "../../policies/standard"),
    runUids: environment["COUNTERSIGN_RUN_UIDS"] ?? null,
    searchPath: null,
    model: createOpenAiModel({ ...deps, delay: () => Promise.resolve() }, options),
    modelName: "planned",
  };
  const never = new AbortController().signal;
  await using runs = await openRuns(deps, settings, { onEvent, askApproval: null }, never);
  const origin = { authorId: null, authorCanWrite: true } as const;
  const issue = {
    title: untrusted("Write a note", { kind: "issue_title", ...origin }),
    body: untrusted("Write a note", { kind: "issue_body", ...origin }),
  };
  const requester = { id: "local:test", login: "test", permission: "admin" } as const;
  return await runLocally(runs, { source: { kind: "path", path: asked.repository }, issue, requester }, never);
}
