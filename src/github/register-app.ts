import { z } from "zod";
import { CountersignError, Secret } from "../domain/index.ts";

/** An App as GitHub hands it over, once. */
export type RegisteredApp = {
  readonly appId: number;
  readonly slug: string;
  /** The App's public page. */
  readonly pageUrl: string;
  /** PEM. */
  readonly privateKey: Secret;
  /** Null where GitHub made none. */
  readonly webhookSecret: Secret | null;
};

/** "Create a GitHub App from a manifest" of GitHub's REST reference; fields that are used. */
const Conversion = z.object({
  id: z.int().positive(),
  slug: z.string().regex(/^[A-Za-z0-9_-]{1,100}$/),
  html_url: z.url({ protocol: /^https?$/ }),
  pem: z.string().includes("-----BEGIN"),
  webhook_secret: z.string().nullish(),
});

const answerTimeoutMs = 20_000;
const largestAnswerBytes = 256 * 1024;

/**
 * Turns the code of a finished manifest form into the App's credentials: `POST /app-manifests/{code}/conversions`. Asks once
 * and without credentials, follows no redirect. Throws `REGISTRATION_FAILED`; nothing of the answer stands in it.
 */
export async function convertManifest(apiUrl: string, code: string, signal: AbortSignal): Promise<RegisteredApp> {
  const { status, text } = await post(`${apiUrl}/app-manifests/${encodeURIComponent(code)}/conversions`, signal);
  if (status === 404 || status === 422)
    throw failed("GitHub does not know this code, or has handed its App over before");
  if (status !== 201) throw failed(`GitHub answered with status ${status}`);
  const { data } = Conversion.safeParse(parseJson(text));
  if (data === undefined) {
    throw new CountersignError("REGISTRATION_FAILED", "GitHub's answer is not that of its reference", {
      remedy: "delete the App that was made on GitHub, check GHE_HOST, and begin again",
    });
  }
  return {
    appId: data.id,
    slug: data.slug,
    pageUrl: data.html_url,
    privateKey: new Secret(data.pem),
    webhookSecret: data.webhook_secret ? new Secret(data.webhook_secret) : null,
  };
}

const failed = (message: string, cause?: unknown): CountersignError =>
  new CountersignError("REGISTRATION_FAILED", message, { cause });

async function post(url: string, signal: AbortSignal): Promise<{ readonly status: number; readonly text: string }> {
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(answerTimeoutMs)]);
  const headers = {
    accept: "application/vnd.github+json",
    "user-agent": "countersign",
    "x-github-api-version": "2022-11-28",
  };
  try {
    const response = await fetch(url, { method: "POST", headers, redirect: "manual", signal: inTime });
    return { status: response.status, text: await readText(response) };
  } catch (error) {
    signal.throwIfAborted();
    throw failed(`no answer from \`${new URL(url).host}\``, error);
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body ?? []) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > largestAnswerBytes) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
