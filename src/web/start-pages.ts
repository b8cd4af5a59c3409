import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { CountersignError, type Secret } from "../domain/index.ts";
import type { PageDeps } from "./page-deps.ts";
import { createPagesApp } from "./pages-app.ts";

export type PageSettings = {
  /** 0: a free one. */
  readonly port: number;
  /** Null: every page answers 404. */
  readonly token: Secret | null;
  /** Whose host may be asked for too; null: loopback names alone. */
  readonly publicUrl: string | null;
};

/** The pages' own server. Disposing ends it. */
export type Pages = AsyncDisposable & { readonly port: number };

/** SEC-114: what comes from outside comes through a proxy that speaks TLS. */
const host = "127.0.0.1";
const limits = { maxHeaderSize: 16 * 1024, headersTimeout: 5_000, requestTimeout: 10_000 };
const connectionLimit = 64;

/** Serves the pages on loopback alone. Throws `CONFIG_INVALID` where the port can't be had. */
export async function startPages(deps: PageDeps, { port, token, publicUrl }: PageSettings): Promise<Pages> {
  const publicHost = URL.parse(publicUrl ?? "")?.hostname ?? null;
  const app = createPagesApp(deps, { token, publicHost });
  const server = createAdaptorServer({ fetch: app.fetch, serverOptions: limits }) as Server;
  server.maxConnections = connectionLimit;
  await listen(server, port);
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((done, fail) => {
    const refuse = (cause: NodeJS.ErrnoException): void => {
      const why = cause.code === "EADDRINUSE" ? "is taken by another program" : "can't be listened on";
      const remedy = "set COUNTERSIGN_WEB_PORT to a free port";
      fail(new CountersignError("CONFIG_INVALID", `port \`${port}\` of \`${host}\` ${why}`, { cause, remedy }));
    };
    server.once("error", refuse);
    server.listen(port, host, () => {
      server.off("error", refuse);
      done();
    });
  });
}
