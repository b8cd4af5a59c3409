import { CountersignError, Secret } from "../domain/index.ts";
import * as shapes from "./answers.ts";
import { createExchange } from "./exchange.ts";
import type { AppFacts, RepositoryPlace } from "./facts.ts";
import type { Github, GithubDeps, GithubSettings } from "./github.ts";
import { createPace } from "./pace.ts";
import { type Credential, type ReadDeps, readAnswer } from "./read.ts";
import { createRead, createReader } from "./reader.ts";
import { appCredential, createTokens, type Tokens } from "./tokens.ts";
import type { WriteContext } from "./write-row.ts";
import { createWriter } from "./writer.ts";

const readPermissions = {
  checks: "read",
  contents: "read",
  issues: "read",
  metadata: "read",
  pull_requests: "read",
} as const;

const defaults = { requestTimeoutMs: 30_000, writeIntervalMs: 1000, lookIntervalMs: 5000 };

/** An App's own token is refused where accounts are read, and what is read there is public. */
const anybody: Credential = { authorization: () => Promise.resolve(new Secret("")), renew: () => {} };

/** Our App and its bot user, asked for until it is known once. */
function createOwnApp(deps: ReadDeps, credential: Credential): Github["app"] {
  let known: AppFacts | null = null;
  return async (signal) => {
    if (known !== null) return known;
    const { data: app } = await readAnswer(
      deps,
      { request: { method: "GET", route: "/app" }, credential },
      shapes.App,
      signal,
    );
    const parameters = { username: `${app.slug}[bot]` };
    const request = { method: "GET", route: "/users/{username}", parameters } as const;
    const { data: bot } = await readAnswer(deps, { request, credential: anybody }, shapes.AppUser, signal);
    known = { ...app, botUserId: bot.id, botLogin: bot.login };
    return known;
  };
}

function createInstallation(deps: ReadDeps, credential: Credential): Github["installation"] {
  return async (installationId, signal) => {
    const parameters = { installation_id: installationId };
    const request = { method: "GET", route: "/app/installations/{installation_id}", parameters } as const;
    const { data } = await readAnswer(deps, { request, credential }, shapes.Installation, signal);
    return {
      id: data.id,
      account: data.account?.login ?? data.account?.slug ?? "",
      isSuspended: typeof data.suspended_at === "string",
      permissions: data.permissions,
    };
  };
}

/** Enterprise Server has REST under `/api/v3` and GraphQL under `/api/graphql`. */
const graphqlUrlOf = (apiUrl: string): string => `${apiUrl.replace(/\/v3$/, "")}/graphql`;

const nameForm = /^[A-Za-z0-9_.-]{1,100}$/;

function createGitAccess(tokens: Tokens, gitUrl: string): Github["gitAccess"] {
  return async (place, { owner, name }, signal) => {
    if (![owner, name].every((part) => nameForm.test(part) && !/^\.+$/.test(part)))
      throw new CountersignError("GITHUB_INVALID", "a repository's name on GitHub is never of this form");
    const held = await tokens.credential(place, { contents: "read" }).authorization(signal);
    const token = held.reveal().replace(/^token /, "");
    const basic = Buffer.from(`x-access-token:${token}`).toString("base64");
    return { url: `${gitUrl}/${owner}/${name}.git`, authorization: new Secret(`Authorization: basic ${basic}`) };
  };
}

/** Opened once a process: it holds the tokens and the pace of writes. Nothing is asked before the first call. */
export function openGithub(deps: GithubDeps, settings: GithubSettings): Github {
  const { requestTimeoutMs, writeIntervalMs, lookIntervalMs } = { ...defaults, ...settings };
  const exchange = createExchange(deps, { apiUrl: settings.apiUrl, timeoutMs: requestTimeoutMs });
  const readDeps: ReadDeps = { ...deps, exchange, origin: new URL(settings.apiUrl).origin };
  const own = appCredential(settings.appId, settings.privateKey);
  const tokens = createTokens(readDeps, own);
  const pace = createPace(deps, writeIntervalMs);
  const app = createOwnApp(readDeps, own);

  const contextOf = (place: RepositoryPlace): Omit<WriteContext, "send"> => {
    const reads = createRead(readDeps, place, tokens.credential(place, readPermissions));
    return {
      place,
      reader: createReader(reads, place),
      read: reads.read,
      app,
      appId: settings.appId,
      graphqlUrl: graphqlUrlOf(settings.apiUrl),
      markerKey: settings.markerKey,
    };
  };

  return {
    app,
    installation: createInstallation(readDeps, own),
    reader: (place) => contextOf(place).reader,
    writer: (place) => createWriter({ ...readDeps, pace, tokens, lookIntervalMs, contextOf }, place),
    gitAccess: createGitAccess(tokens, settings.gitUrl),
  };
}
