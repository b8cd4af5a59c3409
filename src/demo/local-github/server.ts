import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { JsonValue } from "../../domain/index.ts";
import { type Answer, orRefusal, Refusal, refused } from "./answer.ts";
import { authenticate } from "./authenticate.ts";
import { authorize } from "./authorize.ts";
import { faultStops } from "./faults.ts";
import { itemPage, listPage } from "./pages.ts";
import type { ServerDeps } from "./request-log.ts";
import type { Call, Found } from "./router.ts";
import { serveGitPath } from "./serve-git-path.ts";
import { repositoryByName, type World } from "./world.ts";

const apiPrefix = "/api/v3";
const graphqlPath = "/api/graphql";
const gitPath = /^\/(?<owner>[^/]+)\/(?<name>[^/]+?)\.git(?<rest>\/.*)$/;
const pagePath = /^\/(?<owner>[^/]+)\/(?<name>[^/]+)(?:\/(?:issues|pull)\/(?<number>\d+))?$/;
const hourS = 3600;
const hourlyLimit = 5000;

export async function serve(deps: ServerDeps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? "/", deps.world.origin);
  const git = gitPath.exec(pathname)?.groups;
  if (pathname.startsWith(apiPrefix)) await serveApi(deps, request, response, pathname.slice(apiPrefix.length));
  else if (pathname === graphqlPath) await serveApi(deps, request, response, "/graphql");
  else if (git !== undefined) await serveGitPath(deps, request, response, git);
  else await servePage(deps.world, response, pagePath.exec(pathname)?.groups ?? {});
}

async function serveApi(
  deps: ServerDeps,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<void> {
  const method = request.method ?? "GET";
  const text = await readBody(request);
  const body = parseBody(text);
  const found = orRefusal(() => deps.find(method, path));
  const route = found instanceof Refusal || found === null ? "unknown" : found.name;
  const fault = deps.faults.next({ route, path: request.url ?? path });
  const logged = { method, route, path: request.url ?? path, atMs: deps.world.clock(), requestBody: body.value };
  const finish = (status: number | null, answerBody?: JsonValue): void => {
    deps.log.push({ ...logged, status, answerBody, fault: fault?.kind ?? null });
  };
  if (fault?.kind === "delay") await fault.until.catch(() => {});
  if (await faultStops(fault, "before", response, finish)) return;
  const answer = await answerOf(deps, request, { found, body });
  if (await faultStops(fault, "after", response, finish)) return;
  if (fault?.kind === "broken_json") {
    finish(answer.status);
    response.writeHead(answer.status, { "content-type": "application/json; charset=utf-8" }).end('{"id": 1, "nam');
    return;
  }
  finish(answer.status, answer.body);
  send(deps, request, response, answer);
}

type Body = { readonly isBroken: boolean; readonly value: unknown };
type Asked = { readonly found: Found | Refusal | null; readonly body: Body };

async function answerOf(deps: ServerDeps, request: IncomingMessage, asked: Asked): Promise<Answer> {
  const { world } = deps;
  const { found, body } = asked;
  try {
    if (found instanceof Refusal) throw found;
    if ((request.headers["user-agent"] ?? "") === "")
      throw refused(
        403,
        "Request forbidden by administrative rules. Please make sure your request has a User-Agent header",
      );
    const caller = authenticate(world, request.headers.authorization);
    if (found === null) throw refused(404, "Not Found");
    if (body.isBroken) throw refused(400, "Problems parsing JSON");
    const url = new URL(request.url ?? "/", world.origin);
    const call: Call = { world, caller, params: found.params, query: url.searchParams, url, body: body.value };
    const answer = await authorize(found, call);
    const needs = found.route.kind === "repository" ? found.route.needs : [];
    const accepted = needs.map(([name, level]) => `${name}=${level}`).join("; ");
    return needs.length === 0
      ? answer
      : { ...answer, headers: { ...answer.headers, "X-Accepted-GitHub-Permissions": accepted } };
  } catch (error) {
    if (error instanceof Refusal) return error.answer;
    const message = error instanceof Error ? error.message : "unknown";
    return { status: 500, body: { message: `the local GitHub has a fault of its own: ${message}` } };
  }
}

function send(deps: ServerDeps, request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const { world, log } = deps;
  const text = answer.body === undefined ? "" : JSON.stringify(answer.body);
  const etag = `W/"${createHash("sha256").update(text).digest("hex")}"`;
  const used = Math.min(hourlyLimit, log.length);
  const isSame = request.method === "GET" && answer.status === 200 && request.headers["if-none-match"] === etag;
  response.writeHead(isSame ? 304 : answer.status, {
    "Content-Type": "application/json; charset=utf-8",
    "X-GitHub-Media-Type": "github.v3; format=json",
    "X-GitHub-Request-Id": requestId(world),
    "X-RateLimit-Limit": String(hourlyLimit),
    "X-RateLimit-Remaining": String(hourlyLimit - used),
    "X-RateLimit-Used": String(used),
    "X-RateLimit-Reset": String(Math.floor(world.clock() / 1000) + hourS),
    "X-RateLimit-Resource": "core",
    ...(answer.status === 200 ? { ETag: etag } : {}),
    ...answer.headers,
  });
  response.end(isSame ? "" : text);
}

function requestId(world: World): string {
  const hex = Buffer.from(world.randomBytes(12)).toString("hex").toUpperCase();
  return `${hex.slice(0, 4)}:${hex.slice(4, 10)}:${hex.slice(10, 16)}:${hex.slice(16)}`;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

function parseBody(text: string): Body {
  if (text === "") return { isBroken: false, value: undefined };
  try {
    return { isBroken: false, value: JSON.parse(text) };
  } catch {
    return { isBroken: true, value: text };
  }
}

type Groups = Readonly<Record<string, string | undefined>>;

async function servePage(world: World, response: ServerResponse, groups: Groups): Promise<void> {
  const { owner = "", name = "", number } = groups;
  const repository = repositoryByName(world, owner, name);
  const item = number === undefined ? undefined : repository?.items.get(Number(number));
  if (repository === null || (number !== undefined && (item === undefined || item.isDeleted))) {
    response.writeHead(404, { "content-type": "text/plain" }).end("Not Found\n");
    return;
  }
  response.writeHead(200, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
  });
  response.end(item === undefined ? listPage(repository) : await itemPage(world, repository, item));
}
