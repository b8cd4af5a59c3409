import { generateKeyPairSync } from "node:crypto";
import nock from "nock";
import { afterEach, beforeEach, expect } from "vitest";
import { createRedactor, type Redactor, Secret } from "../../src/domain/index.ts";
import {
  type Github,
  type GithubReader,
  type GithubSettings,
  type GithubWriter,
  openGithub,
  type RepositoryPlace,
  type RequestLine,
} from "../../src/github/index.ts";

/**
 * What GitHub does with a request. `hang` never answers, `timeout` neither until the request's time is over, `reset`
 * breaks off, `refused` is a server that isn't there; `failure` is the system's code for what else became of the request.
 */
export type Reply =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | { readonly failure: string }
  | "reset"
  | "refused"
  | "timeout"
  | "hang";
export type Asked = {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly authorization: string;
};

const apiUrl = "https://github.example.test/api/v3";
const gitUrl = "https://github.example.test";
export const place: RepositoryPlace = { installationId: 7, repositoryId: 42 };
export const markerKey = Buffer.alloc(32, 7);
const appId = 99;
export const botUserId = 4099;
const startedAt = Date.parse("2026-03-01T10:00:00Z");

const privateKey = new Secret(
  generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  }).privateKey,
);

export type GithubMock = {
  /** Each request that was answered, in order, the minting of tokens apart. */
  readonly asked: Asked[];
  readonly minted: Asked[];
  readonly askedForBot: Asked[];
  readonly lines: RequestLine[];
  readonly waits: number[];
  /** The time that each request was given, the minting of tokens among them. */
  readonly deadlines: number[];
  readonly waitingUntil: number[];
  readonly github: (settings?: Partial<GithubSettings>) => Github;
  readonly reader: () => GithubReader;
  readonly writer: (settings?: Partial<GithubSettings>) => GithubWriter;
  /** Answers the next requests of this method and path, one reply each. Paths begin after the API's base. */
  readonly reply: (method: string, path: string, ...replies: readonly Reply[]) => void;
  /** The same for a path of the repository. */
  readonly replyInRepository: (method: string, path: string, ...replies: readonly Reply[]) => void;
  /** The same for a path beside the REST API, such as GraphQL's. */
  readonly replyBeside: (method: string, path: string, ...replies: readonly Reply[]) => void;
  /** Of the room under test. */
  readonly redactor: Redactor;
  readonly now: () => number;
  readonly pass: (timeMs: number) => void;
};

/** What nock gives for a request: Fetch's own object, whose body is still to be read. */
async function readAsked(request: Request): Promise<Asked> {
  const { pathname, search } = new URL(request.url);
  const text = await request.text();
  return {
    method: request.method,
    path: `${pathname}${search}`.replace(new URL(apiUrl).pathname, ""),
    body: text === "" ? {} : (JSON.parse(text) as Asked["body"]),
    authorization: request.headers.get("authorization") ?? "",
  };
}

const failure = (code: string): Error => Object.assign(new Error(code), { code });

function answerOf(reply: Reply): Promise<nock.ReplyFnResult> | nock.ReplyFnResult {
  if (reply === "reset") throw failure("ECONNRESET");
  if (reply === "refused") throw failure("ECONNREFUSED");
  if (reply === "hang" || reply === "timeout") return new Promise(() => {});
  if ("failure" in reply) throw failure(reply.failure);
  const headers = { "content-type": "application/json", "x-github-request-id": "AB:1", ...reply.headers };
  return [reply.status, (reply.body ?? "") as nock.Body, headers];
}

/**
 * GitHub as far as a test says: the net is blocked, and a request without a reply or a reply without a request fails the
 * test, whatever the code made of it.
 */
export function mockGithub(): GithubMock {
  const unmatched: string[] = [];
  const asked: Asked[] = [];
  const minted: Asked[] = [];
  const askedForBot: Asked[] = [];
  const lines: RequestLine[] = [];
  const waits: number[] = [];
  const deadlines: number[] = [];
  const waitingUntil: number[] = [];
  let now = startedAt;
  let timeOut = (): void => {};
  const timeoutSignal = (timeoutMs: number): AbortSignal => {
    deadlines.push(timeoutMs);
    const timeout = new AbortController();
    timeOut = () => timeout.abort(new DOMException("the time is over", "TimeoutError"));
    return timeout.signal;
  };
  const note = (request: { method?: string; url?: string; path?: string }): void => {
    unmatched.push(`${request.method} ${request.url ?? request.path}`);
  };

  beforeEach(() => {
    nock.disableNetConnect();
    nock.emitter.on("no match", note);
    for (const list of [unmatched, asked, minted, askedForBot, lines, waits, deadlines, waitingUntil]) list.length = 0;
    now = startedAt;
    answerForTheApp();
  });
  afterEach(() => {
    const pending = nock.pendingMocks();
    nock.emitter.off("no match", note);
    nock.cleanAll();
    expect({ unmatched, pending }).toEqual({ unmatched: [], pending: [] });
  });

  function answerForTheApp(): void {
    const base = nock(apiUrl);
    base
      .post(`/app/installations/${place.installationId}/access_tokens`)
      .optionally()
      .times(100)
      .reply(async (request: Request) => {
        minted.push(await readAsked(request));
        const token = ["ghs", `planted${minted.length}`].join("_");
        return [201, { token, expires_at: new Date(now + 3_600_000).toISOString(), permissions: {} }];
      });
    base
      .get("/app")
      .optionally()
      .reply(200, {
        id: appId,
        slug: "countersign-test",
        name: "Countersign",
        permissions: { contents: "write" },
        events: ["issues"],
      });
    base
      .get("/users/countersign-test%5Bbot%5D")
      .optionally()
      .reply(async (request: Request) => {
        askedForBot.push(await readAsked(request));
        return [200, { id: botUserId, login: "countersign-test[bot]" }];
      });
  }

  function replyOnce(base: string, { method, path }: Pick<Asked, "method" | "path">, given: Reply): void {
    const [bare = "", query] = path.split("?");
    nock(base)
      .intercept(bare, method)
      .query(query === undefined ? true : new URLSearchParams(query))
      .reply(async (request: Request) => {
        asked.push(await readAsked(request));
        if (given === "timeout") timeOut();
        return await answerOf(given);
      });
  }

  const redactor = createRedactor([]);
  const github = (settings: Partial<GithubSettings> = {}): Github =>
    openGithub(
      {
        clock: () => now,
        timeoutSignal,
        redactor,
        delay: async (waitMs, signal) => {
          signal.throwIfAborted();
          waits.push(waitMs);
          now += waitMs;
          await Promise.resolve();
        },
        onRequest: (line) => lines.push(line),
        onWaiting: (until) => waitingUntil.push(until),
      },
      { appId, privateKey, apiUrl, gitUrl, markerKey, writeIntervalMs: 0, ...settings },
    );
  const replyEach = (method: string, path: string, ...replies: readonly Reply[]): void => {
    for (const one of replies) replyOnce(apiUrl, { method, path }, one);
  };
  return {
    redactor,
    asked,
    minted,
    askedForBot,
    lines,
    waits,
    deadlines,
    waitingUntil,
    github,
    reader: () => github().reader(place),
    writer: (settings) => github(settings).writer(place),
    reply: replyEach,
    replyInRepository: (method, path, ...replies) =>
      replyEach(method, `/repositories/${place.repositoryId}${path}`, ...replies),
    replyBeside: (method, path, ...replies) => {
      for (const one of replies) replyOnce(apiUrl.replace(/\/v3$/, ""), { method, path }, one);
    },
    now: () => now,
    pass: (timeMs) => {
      now += timeMs;
    },
  };
}
