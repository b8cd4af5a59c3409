import { chmod, cp, mkdir, readFile, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ModelClient } from "../agent/index.ts";
import { openRuns } from "../app/index.ts";
import { commitOnce } from "../demo/index.ts";
import type { IdSource, Redactor } from "../domain/index.ts";
import type { RunDeps } from "../run/index.ts";
import { openStore, registerProcess, type Store } from "../store/index.ts";
import { prepareTools } from "../workspace/index.ts";
import { type BareSandbox, createBareSandbox } from "./bare-sandbox.ts";
import { type FloorDatabase, openFloorDatabase } from "./floor-database.ts";
import { readableFile, readableLines } from "./model-script.ts";
import { type ModelServer, startModelServer } from "./model-server.ts";
import type { Progress } from "./soak-progress.ts";

export type BenchDeps = IdSource & {
  /** A line for the user when something unusual was done. */
  readonly notice: (line: string) => void;
  readonly redactor: Redactor;
  /** A line on what is being measured now. */
  readonly progress: (line: string) => void;
};

export type BenchSettings = {
  /** The folder of the service: all that is made lies below it, apart from what the service keeps. */
  readonly home: string;
  /** The shipped policies: raised limits are laid over a copy. */
  readonly policiesFolder: string;
  readonly runUids: string | null;
  /** `bin/countersign.mjs`: what is measured as a process of its own. */
  readonly program: string;
};

/** A service folder, database, model server and repository for the measurements alone; each is made when first asked for. */
export type BenchPlace = {
  readonly deps: BenchDeps;
  readonly settings: BenchSettings;
  readonly progress: Progress;
  readonly folder: string;
  readonly home: string;
  readonly policiesFolder: () => Promise<string>;
  readonly server: () => Promise<ModelServer>;
  /** Of the embedded server that the product uses too, over a connection of its own. */
  readonly database: () => Promise<FloorDatabase>;
  /** The product's rooms, put together as for a run. */
  readonly runs: () => Promise<RunDeps>;
  readonly sandbox: () => Promise<BareSandbox>;
  /** A repository with one long file and no tests. */
  readonly repository: () => Promise<string>;
};

/** Everything in it ends and is removed with it; the next start of the service removes what a killed one left. */
export async function openBenchPlace(
  deps: BenchDeps,
  settings: BenchSettings,
  progress: Progress,
  signal: AbortSignal,
): Promise<BenchPlace & AsyncDisposable> {
  await using undo = new AsyncDisposableStack();
  const parent = join(settings.home, "bench");
  const folder = join(parent, Buffer.from(deps.randomBytes(8)).toString("hex"));
  await makePassable(settings.home);
  undo.defer(registerProcess(settings.home, "a benchmark's folder", { pid: null, paths: [folder], mounts: [] }));
  undo.defer(() => rmdir(parent).catch(() => undefined)); // another benchmark may be under way
  undo.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  for (const path of [parent, folder]) await makePassable(path);

  const home = join(folder, "home");
  const store = once(async () =>
    close.use(await openStore(deps, { databaseUrl: null, home, databaseUid: null }, signal)),
  );
  const server = once(async () => close.use(await startModelServer()));
  const database = once(async () => close.use(await openFloorDatabase(await urlOf(home, await store()))));
  const policiesFolder = once(() => copyPolicies(settings.policiesFolder, join(folder, "policies")));
  const runs = once(async () => {
    await store(); // so that the database outlives each of its users
    const place = { ...settings, home, databaseUrl: null, searchPath: null, policiesFolder: await policiesFolder() };
    const hooks = { onEvent: () => undefined, askApproval: null };
    return close.use(await openRuns(deps, { ...place, model: noModel, modelName: "none" }, hooks, signal));
  });
  const tools = once(() => prepareTools({ home, randomBytes: deps.randomBytes }));
  const close = undo.move();
  return {
    deps,
    settings,
    progress,
    folder,
    home,
    policiesFolder,
    server,
    database,
    runs,
    sandbox: once(async () => createBareSandbox(join(folder, "bare"), await tools(), settings.runUids)),
    repository: once(() => makeRepository(join(folder, "repository"), signal)),
    [Symbol.asyncDispose]: () => close.disposeAsync(),
  };
}

/** Made when first asked for, then the same. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make();
    return made;
  };
}

async function makePassable(path: string): Promise<void> {
  if ((await mkdir(path, { recursive: true })) !== undefined) await chmod(path, 0o711);
}

/** Whole runs are processes of their own; what is measured here asks no model. */
const noModel: ModelClient = () => Promise.reject(new Error("nothing measured here asks a model"));

/** The embedded server's address with the password that the store keeps for it. */
async function urlOf(home: string, store: Store): Promise<string> {
  const url = new URL(store.address);
  url.username = "countersign";
  url.password = (await readFile(join(home, "keys", "database-password"), "utf8")).trim();
  url.searchParams.set("sslmode", "disable");
  return url.href;
}

/** Steps, tokens and runs without end: what is measured is how long they take. */
async function copyPolicies(from: string, to: string): Promise<string> {
  await cp(from, to, { recursive: true });
  const path = join(to, "operator.json");
  const operator = JSON.parse(await readFile(path, "utf8")) as { readonly limits: Readonly<Record<string, number>> };
  const limits = { ...operator.limits, minutes: 1440, turns: 10_000, input_tokens: 1e9, output_tokens: 1e9 };
  const runs = { hour: 1_000_000, day: 1_000_000 };
  const caps = {
    runs_per_issue: runs,
    runs_per_repository: runs,
    runs_per_sender: runs,
    tokens_per_day: 1_000_000_000_000_000,
  };
  await writeFile(path, JSON.stringify({ ...operator, limits, caps }));
  return to;
}

async function makeRepository(folder: string, signal: AbortSignal): Promise<string> {
  await mkdir(folder);
  const lines = Array.from({ length: readableLines }, (_, at) => `line ${at + 1} of the file that is read\n`);
  await writeFile(join(folder, readableFile), lines.join(""));
  await commitOnce(folder, "One long file", signal);
  return folder;
}
