import { createHash, timingSafeEqual } from "node:crypto";
import type { Secret } from "../domain/index.ts";
import type { RateLimit } from "./rate-limit.ts";

/** What decides whether a page is shown (SEC-114). */
export type GuardSettings = {
  /** Null: there are no pages. */
  readonly token: Secret | null;
  /** The one host name beside the loopback ones; null: none. */
  readonly publicHost: string | null;
};

export type GuardLimits = { readonly all: RateLimit; readonly refused: RateLimit };

export type Refused = {
  readonly status: 401 | 403 | 404 | 405 | 421 | 429;
  readonly reason: string;
};

const loopbackNames: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);
const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD"]);

const refused = (status: Refused["status"], reason: string): Refused => ({ status, reason });

/**
 * Why a request gets no page; null where it may have one. In this order: are there pages, is it meant for this host (a
 * name that was made to point here is refused), too many, from another site, by whom, and only to read.
 */
export function refusalOf(settings: GuardSettings, limits: GuardLimits, request: Request): Refused | null {
  const { token, publicHost } = settings;
  if (token === null) return refused(404, "not_found");
  const host = hostOf(request.headers.get("host"));
  if (host === null || !(loopbackNames.has(host) || host === publicHost)) return refused(421, "host");
  if (!limits.all()) return refused(429, "too_many_requests");
  const isSafe = safeMethods.has(request.method);
  if (!isSafe && !isSameOrigin(request)) return refused(403, "cross_site");
  if (!isCredential(token, request.headers.get("authorization"))) {
    return limits.refused() ? refused(401, "credential") : refused(429, "too_many_requests");
  }
  return isSafe ? null : refused(405, "method_not_allowed"); // the pages are read-only
}

/** The name without the port, lower case; null for what is no host. */
function hostOf(header: string | null): string | null {
  const name = /^(\[[0-9a-f:]+\]|[a-z0-9.-]+)(?::\d{1,5})?$/i.exec(header ?? "")?.[1];
  return name?.toLowerCase() ?? null;
}

/** Only what the browser itself says to come from here; saying nothing is no proof. */
function isSameOrigin(request: Request): boolean {
  const site = request.headers.get("sec-fetch-site");
  const origin = URL.parse(request.headers.get("origin") ?? "")?.host;
  return origin === request.headers.get("host") && (site === null || site === "same-origin");
}

/** HTTP Basic with any user, or Bearer. Digests are compared, so that neither content nor length shows in the time. */
function isCredential(token: Secret, header: string | null): boolean {
  const [, scheme = "", value = ""] = /^(basic|bearer) +(\S+)$/i.exec(header ?? "") ?? [];
  const given = scheme.toLowerCase() === "basic" ? passwordOf(value) : value;
  const isSame = timingSafeEqual(digest(given), digest(token.reveal()));
  return isSame && given !== "";
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

function passwordOf(basic: string): string {
  const pair = Buffer.from(basic, "base64").toString("utf8");
  const colon = pair.indexOf(":");
  return colon === -1 ? "" : pair.slice(colon + 1);
}
