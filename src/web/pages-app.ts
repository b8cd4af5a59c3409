import { Hono } from "hono";
import { parseActionId, parseRunId } from "../domain/index.ts";
import { actionPage } from "./action-page.ts";
import { type GuardSettings, type Refused, refusalOf } from "./guard.ts";
import { type Html, pageHeaders, showWith } from "./layout.ts";
import type { PageDeps } from "./page-deps.ts";
import { createRateLimit } from "./rate-limit.ts";
import { patchOf, runPage, runsPage } from "./run-pages.ts";

/** A person clicks less often; a wrong credential is tried less often still. */
const allRequests = { burst: 120, perMinute: 600 };
const wrongCredentials = { burst: 10, perMinute: 10 };

/** The read-only pages: a request in, an answer out, no socket. */
export function createPagesApp(deps: PageDeps, settings: GuardSettings): Hono {
  const app = new Hono({ strict: true });
  const limits = {
    all: createRateLimit(deps.clock, allRequests),
    refused: createRateLimit(deps.clock, wrongCredentials),
  };
  app.use("*", async (context, next) => {
    const refused = refusalOf(settings, limits, context.req.raw);
    if (refused !== null) return answer(refused);
    return await next();
  });
  addRoutes(app, deps);
  app.notFound(() => answer({ status: 404, reason: "not_found" }));
  app.onError((error) => {
    deps.onTrouble("a page could not be made", error);
    return answer({ status: 500, reason: "page_failed" });
  });
  return app;
}

function addRoutes(app: Hono, deps: PageDeps): void {
  const show = showWith(deps.redact);
  const shown = async (content: Html | null): Promise<Response> =>
    content === null ? answer({ status: 404, reason: "not_found" }) : htmlResponse(await content);
  app.get("/runs", async () => shown(await runsPage(deps, show)));
  app.get("/runs/:runId", async (context) => {
    const runId = parseRunId(context.req.param("runId"));
    return shown(runId === null ? null : await runPage(deps, show, runId));
  });
  app.get("/runs/:runId/patch", async (context) => {
    const runId = parseRunId(context.req.param("runId"));
    const patch = runId === null ? null : await patchOf(deps, runId);
    return patch === null
      ? answer({ status: 404, reason: "not_found" })
      : download(`${runId}.patch`, deps.redact(patch));
  });
  app.get("/actions/:actionId", async (context) => {
    const actionId = parseActionId(context.req.param("actionId"));
    return shown(actionId === null ? null : await actionPage(deps, show, actionId));
  });
}

const htmlResponse = (content: unknown): Response =>
  new Response(String(content), { headers: { ...pageHeaders, "content-type": "text/html; charset=utf-8" } });

/** Never shown by the browser, whatever is in it (SEC-114). `name`: an id of ours and an ending. */
const download = (name: string, text: string): Response =>
  new Response(text, {
    headers: {
      ...pageHeaders,
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename="${name}"`,
    },
  });

function answer({ status, reason }: Refused | { readonly status: 500; readonly reason: string }): Response {
  const more: Record<string, string> = {
    ...(status === 401 ? { "www-authenticate": 'Basic realm="countersign", charset="UTF-8"' } : {}),
    ...(status === 405 ? { allow: "GET, HEAD" } : {}),
    ...(status === 429 ? { "retry-after": "60" } : {}),
  };
  const headers = { ...pageHeaders, ...more, "content-type": "text/plain; charset=utf-8" };
  return new Response(`${reason}\n`, { status, headers });
}
