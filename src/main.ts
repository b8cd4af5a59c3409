import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { setTimeout } from "node:timers/promises";
import type { ModelClient } from "./agent/index.ts";
import {
  type CountersignDeps,
  examine,
  openPublishing,
  openRecords,
  openRuns,
  openService,
  type Registration,
  readAppManifest,
  readArguments,
  registerApp,
  type Service,
  type ServiceHooks,
  verifyRecords,
} from "./app/index.ts";
import { type CliDeps, errorLine, runCommandLine, type Terminal } from "./cli/index.ts";
import { type Config, loadConfig, readConfig, requireModel, withKnownSecrets } from "./config.ts";
import { credentialFiles } from "./config-github.ts";
import type { Demo, DemoDeps, DemoRequest } from "./demo/index.ts";
import { CountersignError, createRedactor, late, type Redactor, type Requester } from "./domain/index.ts";

const root = join(import.meta.dirname, "..");
const appFile = join(root, "app.yml");
const isRoot = process.geteuid?.() === 0;
const place = { root, folder: process.cwd(), isRoot };
const clock = (): number => Date.now();

/** Aborted on SIGINT, SIGTERM, SIGHUP, and when the process that started us is gone; a second signal ends at once. */
function stopSignal(): AbortSignal {
  const stop = new AbortController();
  const onSignal = (name: string): void => {
    if (stop.signal.aborted) process.exit(130);
    stop.abort(new CountersignError("ABORTED", `stopped by ${name}`));
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(name, () => onSignal(name));
  if (process.channel !== undefined) {
    process.on("disconnect", () => onSignal("the end of its parent"));
    process.channel?.unref();
  }
  return stop.signal;
}

/** Waits; rejects with the signal's reason at once when it is aborted. */
async function delay(waitMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await setTimeout(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
}

/** All that this process prints goes through it (SEC-100). */
function createTerminal({ redact }: Redactor): Terminal {
  const canAsk = process.stdin.isTTY === true && process.stderr.isTTY === true;
  // Who reads may go before we are done (`| head`, a closed terminal): the work and its record go on.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  return {
    out: (text) => void process.stdout.write(redact(text)),
    err: (text) => void process.stderr.write(redact(text)),
    redact,
    isLive: process.stderr.isTTY === true,
    isOutTerminal: process.stdout.isTTY === true,
    columns: process.stderr.columns || 80, // a terminal that does not know its size says 0
    readAll: async () => Buffer.concat(await process.stdin.toArray()),
    ask: canAsk ? (question, signal) => askOnTerminal(redact(question), signal) : null,
  };
}

async function askOnTerminal(question: string, signal: AbortSignal): Promise<string> {
  using lines = createInterface({ input: process.stdin, output: process.stderr });
  // The line editor takes Ctrl-C as a key.
  lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  const ended = new Promise<string>((answer) => lines.once("close", () => answer("")));
  const answered = lines.question(question, { signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  });
  return await Promise.race([answered, ended]);
}

function localRequester(): Requester {
  const uid = process.geteuid?.() ?? 0;
  return { id: `local:${uid}`, login: loginName(uid), permission: "admin" };
}

/** An ordinary user may have no entry in the passwd file. */
function loginName(uid: number): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${uid}`;
  }
}

type Model = {
  readonly model: ModelClient;
  readonly modelName: string;
  readonly modelServer: { readonly address: string; readonly port: number };
};

function serverOf(baseUrl: string): Model["modelServer"] {
  const { hostname, port, protocol } = new URL(baseUrl);
  return { address: hostname, port: Number(port || (protocol === "https:" ? 443 : 80)) };
}

async function createModel({ redactor }: Pick<CountersignDeps, "redactor">, config: Config): Promise<Model> {
  const { baseUrl, apiKey, name } = requireModel(config);
  const { createOpenAiModel, defaultSilenceMs } = await import("./agent/index.ts");
  const options = { baseUrl, apiKey: apiKey?.reveal() ?? null, model: name, silenceMs: defaultSilenceMs };
  return {
    model: createOpenAiModel({ clock, randomBytes, delay, redactor }, options),
    modelName: name,
    modelServer: serverOf(baseUrl),
  };
}

const settingsOf = (config: Config) => ({ ...config, databaseUrl: config.databaseUrl?.reveal() ?? null });

/** The same for who starts sandboxes. */
async function sandboxSettingsOf(config: Config) {
  const { hostReach } = await import("./workspace/index.ts");
  return { ...settingsOf(config), setupNetwork: { reach: hostReach, packageManagers: config.packageManagers } };
}

/** The same for who does runs. Rejects with `CONFIG_INVALID` before anything of them is loaded. */
async function runSettingsOf(deps: CountersignDeps, config: Config) {
  const model = await createModel(deps, config);
  return { ...(await sandboxSettingsOf(config)), ...model };
}

async function startService(
  deps: CountersignDeps,
  config: Config,
  onEvent: ServiceHooks["onEvent"],
  signal: AbortSignal,
): Promise<Service> {
  const settings = { ...(await runSettingsOf(deps, config)), ...config.server(), github: config.github() };
  const onTrouble = (line: string, error: unknown): void => deps.notice(`${line}: ${errorLine(error)}`);
  return openService(deps, settings, { onEvent, onTrouble }, signal);
}

function createCliDeps(config: Config, redactor: Redactor, terminal: Terminal, signal: AbortSignal): CliDeps {
  const deps = { clock, randomBytes, redactor, notice: (line: string) => terminal.err(`countersign: ${line}\n`) };
  const github = {
    isConfigured: config.hasGithub(),
    settings: config.github,
    manifest: () => readAppManifest(appFile),
  };
  return {
    terminal,
    clock,
    randomBytes,
    signal,
    version: (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }).version,
    folder: place.folder,
    requester: localRequester(),
    openRecords: () => openRecords(deps, settingsOf(config), signal),
    policiesFolder: config.policiesFolder,
    openPublishing: async (address, hooks) => {
      const runs = await runSettingsOf(deps, config);
      const publishing = { ...runs, github: config.githubApp(), publicUrl: config.server().publicUrl };
      return await openPublishing(deps, publishing, { address, hooks }, signal);
    },
    openRuns: async (hooks) => openRuns(deps, await runSettingsOf(deps, config), hooks, signal),
    examine: async (parts, examineSignal) => {
      const examined = { ...(await sandboxSettingsOf(config)), createModel: () => createModel(deps, config), github };
      return await examine(deps, examined, parts, examineSignal);
    },
    openService: () => startService(deps, config, () => undefined, signal),
    demo: (request, onEvent) => demonstrate({ ...deps, onEvent }, config, request, signal),
    register: (request, onReady) => register({ redactor, onReady }, config, request, signal),
    bench: async (request, benchSignal) => {
      const { runBench } = await import("./bench/index.ts"); // no other command pays for it
      const { home, policiesFolder, runUids } = config;
      const benchPlace = { home, policiesFolder, runUids, program: join(root, "bin", "countersign.mjs") };
      return runBench({ ...deps, progress: deps.notice }, benchPlace, request, benchSignal);
    },
    toolSchemas: late(async () => (await import("./gateway/index.ts")).toolSchemas),
    schemasFolder: join(root, "tools_schemas"),
  };
}

type RegisterHooks = {
  readonly redactor: Redactor;
  readonly onReady: (formUrl: string, listening: string) => void;
};

async function register(
  { redactor, onReady }: RegisterHooks,
  config: Config,
  request: { readonly publicAddress: string; readonly organization: string | null },
  signal: AbortSignal,
): Promise<Registration> {
  const { host, port, webhookPath } = config.server();
  const { apiUrl, gitUrl } = config.githubPlace();
  const { convertManifest } = await import("./github/index.ts");
  const deps = {
    randomBytes,
    convert: async (code: string, convertSignal: AbortSignal) => {
      const app = await convertManifest(apiUrl, code, convertSignal);
      for (const secret of [app.privateKey, app.webhookSecret]) if (secret !== null) redactor.learn(secret);
      return app;
    },
    onReady: (formUrl: string) => onReady(formUrl, `${host}, port ${port}`),
  };
  const manifest = await readAppManifest(appFile);
  const files = credentialFiles(config.home);
  return registerApp(deps, { ...request, host, port, webhookPath, githubUrl: gitUrl, manifest, files }, signal);
}

/** The one user id range that a demonstration takes by itself where root started it: nothing owns it on a common machine. */
const demoUids = "64200-64299";

const scriptedInstead =
  "OPENAI_MODEL alone names no server: the scripted model is used; set OPENAI_API_KEY or OPENAI_BASE_URL as well to ask yours";

async function demonstrate(
  deps: Omit<DemoDeps, "openCountersign"> & CountersignDeps,
  config: Config,
  { isReal }: { readonly isReal: boolean },
  signal: AbortSignal,
): Promise<Demo> {
  const { openDemo } = await import("./demo/index.ts"); // no other command pays for it
  const model = isReal || config.hasModel ? requireModel(config) : null;
  if (model === null && config.isModelWithoutServer) deps.notice(scriptedInstead);
  const { default_permissions: permissions, default_events: events } = await readAppManifest(appFile);
  const request: DemoRequest = {
    model: model === null ? null : { ...model, apiKey: model.apiKey?.reveal() ?? null },
    homePrefix: isRoot ? join(config.home, "demo-") : join(tmpdir(), "countersign-demo-"),
    app: { permissions, events },
    environment: {
      PATH: config.searchPath ?? "",
      COUNTERSIGN_RUN_UIDS: config.runUids ?? (isRoot ? demoUids : ""),
    },
  };
  const openCountersign: DemoDeps["openCountersign"] = async (environment, onEvent, openSignal) => {
    const own = withKnownSecrets(readConfig(environment, place), deps.redactor);
    const service = await startService(deps, own, onEvent, openSignal);
    return {
      webhookUrl: service.webhookUrl ?? "",
      pagesUrl: service.pagesUrl ?? "",
      verify: () => verifyRecords(deps, settingsOf(own), openSignal),
      argumentsOf: (actionId) => readArguments(deps, { settings: settingsOf(own), actionId }, openSignal),
      [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
    };
  };
  return openDemo({ ...deps, openCountersign }, request, signal);
}

/** One command line, and what stands around it. */
export type CommandLine = {
  readonly argv: readonly string[];
  /** The current folder, for relative paths. */
  readonly folder: string;
  readonly load: () => Config;
  readonly redactor: Redactor;
  readonly terminal: Terminal;
};

/** Answers with the exit code. Never throws: an error is one line on standard error. */
export async function runCommand(command: CommandLine, signal: AbortSignal): Promise<number> {
  const { argv, folder, load, redactor, terminal } = command;
  try {
    const config = withKnownSecrets(load(), redactor);
    return await runCommandLine(argv, { ...createCliDeps(config, redactor, terminal, signal), folder });
  } catch (error) {
    terminal.err(`countersign: ${errorLine(error)}\n`);
    return 2;
  }
}

/** The command of this process, by its arguments and environment. Answers with the exit code. */
export function main(): Promise<number> {
  const redactor = createRedactor([]);
  const terminal = createTerminal(redactor);
  const argv = process.argv.slice(2);
  return runCommand({ argv, folder: place.folder, load: () => loadConfig(place), redactor, terminal }, stopSignal());
}
