import { randomBytes } from "node:crypto";
import { join, resolve } from "node:path";
import { createOpenAiModel } from "../../src/agent/index.ts";
import { openService, type Service, type ServiceSettings } from "../../src/app/index.ts";
import { type LocalGithub, startLocalGithub, startScriptedModel, writeSampleRepository } from "../../src/demo/index.ts";
import { Secret } from "../../src/domain/index.ts";
import type { RunEvent } from "../../src/run/index.ts";
import { type Countersign, openCountersign } from "./countersign.ts";

/** A local GitHub with a repository to work on, a model, and the place of a service that no process serves yet. */
export type GithubPlace = AsyncDisposable & {
  readonly countersign: Countersign;
  readonly github: LocalGithub;
  readonly webhookSecret: string;
  readonly model: { readonly baseUrl: string; readonly model: string };
  /** The service in this process; ended with the place where the test does not end it. */
  readonly serve: (changes?: Partial<ServiceSettings>) => Promise<RunningService>;
  /** The sample repository under `owner/name`, with `alice` who may write. Answers with the text of its issue. */
  readonly addSample: (name: string) => Promise<string>;
  readonly addRepository: (name: string, folder: string) => Promise<void>;
  /** The bare repository behind `owner/name`, for plain git. */
  readonly gitFolder: (fullName: string) => string;
};

export type RunningService = Service & {
  readonly events: readonly RunEvent[];
  readonly troubles: readonly string[];
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
  const addRepository = async (name: string, files: string): Promise<void> => {
    const made = await github.createRepository({ owner, name, source: { kind: "git", folder: files } }, never);
    folders.set(`${owner}/${name}`, made.folder);
    github.addCollaborator(`${owner}/${name}`, "alice", "write");
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
    addRepository,
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

/** What a service of this place is started with. Nothing waits that a test would have to wait for. */
function serviceSettings(
  {
    countersign,
    github,
    webhookSecret,
    model,
  }: Pick<GithubPlace, "countersign" | "github" | "webhookSecret" | "model">,
  changes: Partial<ServiceSettings>,
): ServiceSettings {
  const { environment, home } = countersign;
  const deps = { clock: Date.now, randomBytes, delay: () => Promise.resolve() };
  return {
    home,
    databaseUrl: environment["DATABASE_URL"] ?? null,
    policiesFolder: resolve(import.meta.dirname, "../../policies/standard"),
    runUids: environment["COUNTERSIGN_RUN_UIDS"] ?? null,
    searchPath: null,
    model: createOpenAiModel(deps, { baseUrl: model.baseUrl, apiKey: null, model: model.model, silenceMs: 30_000 }),
    modelName: model.model,
    github: {
      appId: github.app.id,
      privateKey: new Secret(github.app.privateKey),
      webhookSecret: new Secret(webhookSecret),
      webhookSecretPrevious: null,
      apiUrl: github.apiUrl,
      gitUrl: github.origin,
    },
    webhookPath: "/api/github/webhooks",
    port: 0,
    host: "127.0.0.1",
    role: "all",
    publicUrl: null,
    pace: { writeIntervalMs: 0, lookIntervalMs: 10, requestTimeoutMs: 5_000, stopPollMs: 50 },
    ...changes,
  };
}

async function startService(
  place: Pick<GithubPlace, "countersign" | "github" | "webhookSecret" | "model">,
  changes: Partial<ServiceSettings>,
): Promise<RunningService> {
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
  const deps = { clock: Date.now, randomBytes, notice: (line: string) => void troubles.push(line) };
  const service = await openService(deps, serviceSettings(place, changes), hooks, never);
  if (service.webhookUrl !== null) place.github.setWebhook({ url: service.webhookUrl, secret: place.webhookSecret });
  const endedCount = (): number => events.filter(({ kind }) => kind === "ended").length;
  return {
    ...service,
    events,
    troubles,
    ended: (count = 1) =>
      new Promise((done) => {
        const look = (): void => {
          if (endedCount() < count) return;
          news.removeEventListener("news", look);
          done();
        };
        news.addEventListener("news", look);
        look();
      }),
  };
}
