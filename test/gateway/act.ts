import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "../../src/domain/index.ts";
import type { ActionContext, ActionSettings, Prepared, Presented } from "../../src/gateway/action-description.ts";
import { type AnyAction, createCatalogue } from "../../src/gateway/catalogue.ts";
import { createFingerprints } from "../../src/gateway/fingerprints.ts";
import { presentRefusal } from "../../src/gateway/refusal-text.ts";
import { completeRecord } from "../../src/gateway/result-record.ts";
import { createSavedPages, type SavedPages } from "../../src/gateway/saved-pages.ts";
import { soundResult } from "../../src/gateway/sound-result.ts";
import type { Workspace } from "../../src/workspace/index.ts";

const catalogue = createCatalogue();

export const settings: ActionSettings = {
  verifyCommand: "make test",
  verifyTimeoutMs: 600_000,
  verifyFilter: null,
  setupCommand: null,
  setupTimeoutMs: 600_000,
};

type Answer = Presented & { readonly record: JsonObject };

/** One run's hands in a test: prepares, executes and presents as the gateway does, and checks each record on its way out. */
export type Actor = AsyncDisposable & {
  readonly pages: SavedPages;
  call(tool: string, args: JsonObject): Promise<Answer>;
  /** The first act alone; each counts as a turn. */
  prepare(tool: string, args: JsonObject): Promise<Prepared<unknown>>;
  /** The other two acts. */
  finish(tool: string, args: JsonObject, prepared: Prepared<unknown>): Promise<Answer>;
};

export async function createActor(workspace: Workspace, overrides: Partial<ActionContext> = {}): Promise<Actor> {
  const pages = await createSavedPages(await mkdtemp(join(tmpdir(), "pages-")));
  const fingerprints = createFingerprints();
  const signal = AbortSignal.timeout(60_000);
  let turn = 0;
  const context = (): ActionContext => ({
    workspace,
    fingerprints,
    pages,
    paths: [],
    settings,
    turn,
    actionId: `action-${turn}`,
    leftMs: 3_600_000,
    ...overrides,
  });
  const prepare = (tool: string, args: JsonObject): Promise<Prepared<unknown>> => {
    turn += 1;
    const action = actionNamed(tool);
    return action.prepare(context(), action.Arguments.parse(args), signal);
  };
  const settle = async (tool: string, args: JsonObject, prepared: Prepared<unknown>): Promise<Presented> => {
    if (prepared.kind === "already_done") return prepared.presented;
    if (prepared.kind === "refused") return presentRefusal(prepared.refusal);
    const action = actionNamed(tool);
    const executed = await action.execute(context(), prepared.plan, signal);
    if ("kind" in executed) throw new Error(`${tool} ended as ${executed.kind}`);
    return action.present(context(), action.Arguments.parse(args), executed);
  };
  const finish = async (tool: string, args: JsonObject, prepared: Prepared<unknown>): Promise<Answer> => {
    const presented = await settle(tool, args, prepared);
    const facts = {
      tool,
      actionId: context().actionId,
      startedAt: "2026-01-01T00:00:00.000Z",
      durationMs: 1,
      replayed: false,
    };
    const sound = soundResult({ ...presented, record: completeRecord(presented, facts) });
    return { ...sound, record: actionNamed(tool).Record.parse(sound.record) };
  };
  return {
    pages,
    prepare,
    finish,
    call: async (tool, args) => finish(tool, args, await prepare(tool, args)),
    [Symbol.asyncDispose]: () => pages[Symbol.asyncDispose](),
  };
}

function actionNamed(tool: string): AnyAction {
  const action = catalogue.get(tool);
  if (action === undefined) throw new Error(`no tool ${tool}`);
  return action;
}
