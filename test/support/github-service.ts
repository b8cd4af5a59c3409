import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { createOpenAiModel } from "../../src/agent/index.ts";
import { openService, type Service, type ServiceSettings } from "../../src/app/index.ts";
import { type LocalGithub, startLocalGithub, startScriptedModel, writeSampleRepository } from "../../src/demo/index.ts";
import { createRedactor, type Redactor, Secret } from "../../src/domain/index.ts";
import type { RunEvent } from "../../src/run/index.ts";
import { type Countersign, openCountersign } from "./countersign.ts";

/** A local GitHub with a repository to work on, a model, and the place of a service that no process serves yet. */
export type GithubPlace = AsyncDisposable & {
  readonly countersign: Countersign;
  readonly github: LocalGithub;
  readonly webhookSecret: string;
  readonly model: { readonly baseUrl: string; readonly model: string };
  /** The service in this process; ended with the place where the test does not end it. */
  readonly serve: (changes?: Partial<PlainSettings>) => Promise<RunningService>;
  /** The service in a process of its own; killed with the place where the test does not end it. */
  readonly serveApart: (changes?: Partial<PlainSettings>) => Promise<ApartService>;
  /** The sample repository under `owner/name`, with `alice` who may write. Answers with the text of its issue. */
  readonly addSample: (name: string) => Promise<string>;
  /** Answers with the repository's numeric id. */
  readonly addRepository: (name: string, folder: string) => Promise<number>;
  /** The shipped policies, with so many runs at once. */
  readonly policiesFor: (runsAtOnce: number) => string;
  /** The bare repository behind `owner/name`, for plain git. */
  readonly gitFolder: (fullName: string) => string;
};

export type RunningService = Service & {
  readonly events: readonly RunEvent[];
  readonly troubles: readonly string[];
  /** Resolves once this holds, asked at each event. */
  readonly heard: (holds: () => boolean) => Promise<void>;
  /** Resolves once so many runs have ended, as events of this process. */
  readonly ended: (count?: number) => Promise<void>;
};

const never = new AbortController().signal;
const owner = "acme";

export async function openGithubPlace(
  model: { readonly baseUrl: string; readonly model: string } | null = null,
): Promise<GithubPlace> {
  await using undo = new AsyncDisposableStack();
  const countersign = undo.use(await openCountersign("shared"));
  const asked = model ?? undo.use(await startScriptedModel({ clock: Date.now }));
  const folder = join(countersign.folder, "github");
  const github = undo.use(await startLocalGithub({ clock: Date.now, randomBytes, folder }));
  github.createAccount(owner, "Organization");
  github.createAccount("alice");
  const webhookSecret = randomBytes(32).toString("hex");
  const services = undo.use(new AsyncDisposableStack());
  const folders = new Map<string, string>();
  const addRepository = async (name: string, files: string): Promise<number> => {
    const made = await github.createRepository({ owner, name, source: { kind: "git", folder: files } }, never);
    folders.set(`${owner}/${name}`, made.folder);
    github.addCollaborator(`${owner}/${name}`, "alice", "write");
    return made.id;
  };
  const close = undo.move();
  return {
    countersign,
    github,
    webhookSecret,
    model: asked,
    serve: async (changes = {}) => {
      const service = await startService({ countersign, github, webhookSecret, model: asked }, changes);
      services.use(service);
      return service;
    },
    serveApart: async (changes = {}) => {
      const service = await startApart({ countersign, github, webhookSecret, model: asked }, changes);
      services.use(service);
      return service;
    },
    addRepository,
    policiesFor: (runsAtOnce) => policiesFor(countersign, runsAtOnce),
    gitFolder: (fullName) => folders.get(fullName) ?? "",
    addSample: async (name) => {
      const files = join(countersign.folder, `files-${name}`);
      const { issue } = await writeSampleRepository(files, never);
      await addRepository(name, files);
      return issue;
    },
    [Symbol.asyncDispose]: () => close.disposeAsync(),
  };
}

const standard = resolve(import.meta.dirname, "../../policies/standard");

function policiesFor({ folder: place }: Countersign, runsAtOnce: number): string {
  const folder = join(place, `policies-${runsAtOnce}`);
  cpSync(standard, folder, { recursive: true });
  const file = join(folder, "operator.json");
  const operator = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
  const caps = { runs_per_issue: high, runs_per_repository: high, runs_per_sender: high };
  const concurrency = { runs_per_installation: runsAtOnce, runs_per_repository: 1 };
  writeFileSync(file, JSON.stringify({ ...operator, concurrency, caps }));
  return folder;
}

const high = { hour: 1_000, day: 1_000 };

type Parts = Pick<GithubPlace, "countersign" | "github" | "webhookSecret" | "model">;

/** What a service is started with that is no secret and no function. */
type PlainSettings = Omit<ServiceSettings, "model" | "modelName" | "github">;
/** All of it for a process of its own. */
export type ApartSettings = {
  readonly plain: PlainSettings;
  readonly model: GithubPlace["model"];
  readonly github: {
    readonly appId: number;
    readonly privateKey: string;
    readonly webhookSecret: string;
    readonly apiUrl: string;
    readonly gitUrl: string;
  };
};

/** Nothing waits on purpose that a test would have to wait for. */
function apartSettings(
  { countersign, github, webhookSecret, model }: Parts,
  changes: Partial<PlainSettings>,
): ApartSettings {
  const { environment, home } = countersign;
  return {
    plain: {
      home,
      databaseUrl: environment["DATABASE_URL"] ?? null,
      policiesFolder: standard,
      runUids: environment["COUNTERSIGN_RUN_UIDS"] ?? null,
      searchPath: null,
      webhookPath: "/api/github/webhooks",
      port: 0,
      host: "127.0.0.1",
      role: "all",
      publicUrl: null,
      pace: { writeIntervalMs: 0, lookIntervalMs: 10, requestTimeoutMs: 60_000, stopPollMs: 50 },
      ...changes,
    },
    model,
    github: {
      appId: github.app.id,
      privateKey: github.app.privateKey,
      webhookSecret,
      apiUrl: github.apiUrl,
      gitUrl: github.origin,
    },
  };
}

function serviceSettings(parts: Parts, changes: Partial<PlainSettings>, redactor: Redactor): ServiceSettings {
  const { plain, model, github } = apartSettings(parts, changes);
  const deps = { clock: Date.now, randomBytes, delay: () => Promise.resolve(), redactor };
  return {
    ...plain,
    model: createOpenAiModel(deps, { baseUrl: model.baseUrl, apiKey: null, model: model.model, silenceMs: 30_000 }),
    modelName: model.model,
    github: {
      ...github,
      privateKey: new Secret(github.privateKey),
      webhookSecret: new Secret(github.webhookSecret),
      webhookSecretPrevious: null,
    },
  };
}

/** A service in a process of its own. */
export type ApartService = AsyncDisposable & {
  readonly pid: number;
  /** All lines of standard output so far. */
  readonly lines: readonly string[];
  /** Resolves once so many lines begin so; rejects where the process ends before. */
  readonly told: (start: string, count?: number) => Promise<void>;
  /** Resolves once the process is gone. */
  readonly kill: (signal: NodeJS.Signals) => Promise<void>;
};

async function startApart(parts: Parts, changes: Partial<PlainSettings>): Promise<ApartService> {
  const program = new URL("./github-service-process.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, ["--liftoff-only", program], {
    env: { ...parts.countersign.environment },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.end(JSON.stringify(apartSettings(parts, changes)));
  const lines: string[] = [];
  const news = new EventTarget();
  let isOver = false;
  const closed = once(child, "close").then(() => {
    isOver = true;
    news.dispatchEvent(new Event("news"));
  });
  const hear = (line: string): void => {
    lines.push(line);
    news.dispatchEvent(new Event("news"));
  };
  createInterface(child.stdout).on("line", hear);
  createInterface(child.stderr).on("line", (line) => hear(`stderr ${line}`));
  const told = (start: string, count = 1): Promise<void> =>
    new Promise((done, failed) => {
      const look = (): void => {
        const isThere = lines.filter((line) => line.startsWith(start)).length >= count;
        if (!isThere && !isOver) return;
        news.removeEventListener("news", look);
        if (isThere) done();
        else failed(new Error(`the service ended:\n${lines.join("\n")}`));
      };
      news.addEventListener("news", look);
      look();
    });
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await closed;
  };
  await told("ready ");
  const url = lines.find((line) => line.startsWith("ready "))?.slice("ready ".length) ?? "";
  if (url !== "null") parts.github.setWebhook({ url, secret: parts.webhookSecret });
  return { pid: child.pid ?? 0, lines, told, kill, [Symbol.asyncDispose]: () => kill("SIGKILL") };
}

async function startService(place: Parts, changes: Partial<PlainSettings>): Promise<RunningService> {
  const events: RunEvent[] = [];
  const troubles: string[] = [];
  const news = new EventTarget();
  const note = (): boolean => news.dispatchEvent(new Event("news"));
  const hooks = {
    onEvent: (event: RunEvent) => {
      events.push(event);
      note();
    },
    onTrouble: (line: string, error: unknown) => void troubles.push(`${line}: ${String((error as Error).stack)}`),
  };
  const redactor = createRedactor([new Secret(place.github.app.privateKey), new Secret(place.webhookSecret)]);
  const deps = { clock: Date.now, randomBytes, notice: (line: string) => void troubles.push(line), redactor };
  const service = await openService(deps, serviceSettings(place, changes, redactor), hooks, never);
  if (service.webhookUrl !== null) place.github.setWebhook({ url: service.webhookUrl, secret: place.webhookSecret });
  const heard = (holds: () => boolean): Promise<void> =>
    new Promise((done) => {
      const look = (): void => {
        if (!holds()) return;
        news.removeEventListener("news", look);
        done();
      };
      news.addEventListener("news", look);
      look();
    });
  const endedCount = (): number => events.filter(({ kind }) => kind === "ended").length;
  return {
    ...service,
    events,
    troubles,
    heard,
    ended: (count = 1) => heard(() => endedCount() >= count),
  };
}
