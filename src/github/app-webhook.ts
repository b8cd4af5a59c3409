import { z } from "zod";
import { createExchange } from "./exchange.ts";
import type { GithubDeps, GithubSettings } from "./github.ts";
import { readAnswer } from "./read.ts";
import { appCredential } from "./tokens.ts";

/** How GitHub delivers to the App. */
export type AppWebhook = {
  /** Null where none is set. */
  readonly url: string | null;
  /** `json` or `form`. */
  readonly contentType: string;
  readonly verifiesTls: boolean;
};

/** "Get a webhook configuration for an app" of GitHub's REST reference. */
const HookConfig = z.object({
  url: z.string().nullish(),
  content_type: z.string().default("form"),
  insecure_ssl: z.union([z.string(), z.number()]).default("0"),
});

const timeoutMs = 30_000;

/** Asks GitHub for the App's webhook. Throws as `Github` does. */
export async function readAppWebhook(
  deps: GithubDeps,
  settings: Pick<GithubSettings, "appId" | "privateKey" | "apiUrl">,
  signal: AbortSignal,
): Promise<AppWebhook> {
  const exchange = createExchange(deps, { apiUrl: settings.apiUrl, timeoutMs });
  const credential = appCredential(deps.clock, settings.appId, settings.privateKey);
  const request = { method: "GET", route: "/app/hook/config" } as const;
  const readDeps = { ...deps, exchange, origin: new URL(settings.apiUrl).origin };
  const { data } = await readAnswer(readDeps, { request, credential }, HookConfig, signal);
  return { url: data.url || null, contentType: data.content_type, verifiesTls: String(data.insecure_ssl) === "0" };
}
