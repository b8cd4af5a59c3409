import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, RandomBytes } from "../domain/index.ts";
import { type DemoHome, openDemoHome } from "./demo-home.ts";
import type { DemoRequest } from "./demo-result.ts";
import { type LocalGithub, startLocalGithub } from "./local-github/local-github.ts";
import { writeSampleRepository } from "./sample-repository.ts";
import { startScriptedModel } from "./scripted-model.ts";
import { type SpanReceiver, startSpanReceiver } from "./span-receiver.ts";

type Model = NonNullable<DemoRequest["model"]>;

/** What stands around Countersign in a demonstration. */
export type DemoWorld = AsyncDisposable & {
  readonly home: DemoHome;
  readonly github: LocalGithub;
  readonly receiver: SpanReceiver;
  readonly model: Model;
  readonly webhookSecret: string;
  /** Of the pages: made for this demonstration alone. */
  readonly webToken: string;
  readonly issue: number;
};

export type DemoWorldDeps = {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly notice: (line: string) => void;
};

const owner = "octo-org";
export const maintainer = "octo-maintainer";
export const repository = `${owner}/bookings`;

/** Starts all of it on 127.0.0.1, with one issue in one repository. */
export async function openDemoWorld(
  deps: DemoWorldDeps,
  request: DemoRequest,
  signal: AbortSignal,
): Promise<DemoWorld> {
  await using undo = new AsyncDisposableStack();
  const home = undo.use(await openDemoHome(request.homePrefix, deps.notice));
  const receiver = undo.use(await startSpanReceiver());
  const model = request.model ?? (await useScriptedModel(deps, undo));
  const app = { slug: "countersign", ...request.app };
  const github = undo.use(await startLocalGithub({ ...deps, folder: join(home.folder, "github"), app }));
  const issue = await openIssue(github, join(home.folder, "sample"), signal);
  const webhookSecret = Buffer.from(deps.randomBytes(32)).toString("hex");
  const webToken = Buffer.from(deps.randomBytes(16)).toString("hex");
  // On the terminal a password is redacted, whoever it is meant for (SEC-100).
  await writeFile(passwordFileOf(home), `${webToken}\n`, { mode: 0o600 });
  const close = undo.move();
  const world = { home, github, receiver, model, webhookSecret, webToken, issue };
  return { ...world, [Symbol.asyncDispose]: () => close.disposeAsync() };
}

async function useScriptedModel(deps: DemoWorldDeps, undo: AsyncDisposableStack): Promise<Model> {
  const { baseUrl, model } = undo.use(await startScriptedModel(deps));
  return { baseUrl, name: model, apiKey: null };
}

/** The repository is public, so that plain git can fetch from it without a credential. */
async function openIssue(github: LocalGithub, folder: string, signal: AbortSignal): Promise<number> {
  const sample = await writeSampleRepository(folder, signal);
  github.createAccount(owner, "Organization");
  github.createAccount(maintainer);
  const source = { kind: "git", folder } as const;
  await github.createRepository({ owner, name: "bookings", source, isPrivate: false }, signal);
  github.addCollaborator(repository, maintainer, "maintain");
  const [heading = "", ...rest] = sample.issue.trim().split("\n");
  const text = { title: heading.replace(/^#+\s*/, ""), body: rest.join("\n").trim() };
  return github.openIssue(repository, { ...text, by: maintainer });
}

/** The variables with which `serve` would be started for this world. */
export function environmentOf(world: DemoWorld): Readonly<Record<string, string>> {
  const { home, github, receiver, model, webhookSecret, webToken } = world;
  return {
    COUNTERSIGN_HOME: home.folder,
    APP_ID: String(github.app.id),
    PRIVATE_KEY: github.app.privateKey,
    WEBHOOK_SECRET: webhookSecret,
    GHE_HOST: `127.0.0.1:${github.port}`,
    GHE_PROTOCOL: "http",
    HOST: "127.0.0.1",
    PORT: "0",
    COUNTERSIGN_WEB_PORT: "0",
    COUNTERSIGN_WEB_TOKEN: webToken,
    LOG_LEVEL: "warn",
    OPENAI_BASE_URL: model.baseUrl,
    OPENAI_MODEL: model.name,
    ...(model.apiKey === null ? {} : { OPENAI_API_KEY: model.apiKey }),
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
  };
}

/** Where the password of the demonstration's pages stands, for whoever started it. */
export const passwordFileOf = ({ folder }: DemoHome): string => join(folder, "pages-password");
