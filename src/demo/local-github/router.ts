import type { z } from "zod";
import type { JsonObject } from "../../domain/index.ts";
import { type Answer, Refusal, refused } from "./answer.ts";
import type { Installation, InstallationToken, Level, Repository, World } from "./world.ts";

export type Caller =
  | { readonly kind: "anonymous" }
  | { readonly kind: "app" }
  | { readonly kind: "installation"; readonly installation: Installation; readonly token: InstallationToken };

export type Call = {
  readonly world: World;
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Path and query as they were asked for, for links to other pages. */
  readonly url: URL;
  readonly body: unknown;
};
export type RepositoryCall = Call & { readonly repository: Repository };

/** Who may call: the App by its own token, an installation, or anybody. */
export type Route =
  | {
      readonly kind: "plain";
      readonly method: string;
      /** In the notation of GitHub's OpenAPI description. */
      readonly path: string;
      readonly needs: "app" | "installation" | "anyone";
      readonly handle: (call: Call) => Answer | Promise<Answer>;
    }
  | {
      readonly kind: "repository";
      readonly method: string;
      /** Behind `/repos/{owner}/{repo}`, or its other name `/repositories/{repository_id}`. */
      readonly path: string;
      /** One of them is enough, as GitHub's page of permissions says. */
      readonly needs: readonly (readonly [permission: string, level: Level])[];
      readonly handle: (call: RepositoryCall) => Answer | Promise<Answer>;
    };

export type Found = { readonly route: Route; readonly name: string; readonly params: Readonly<Record<string, string>> };

/** Parameters that may hold slashes. */
const deep = new Set(["ref", "path", "basehead", "branch"]);
const prefix = "/repos/{owner}/{repo}";

const toPattern = (path: string): RegExp =>
  new RegExp(
    `^${path.replaceAll(/[.[\]()]/g, "\\$&").replaceAll(/\{(\w+)\}/g, (_, name: string) => (deep.has(name) ? `(?<${name}>.+)` : `(?<${name}>[^/]+)`))}$`,
  );

/** Finds the route of a path below `/api/v3`; both names of a repository lead to the same one. */
export function createRouter(routes: readonly Route[]): (method: string, path: string) => Found | null {
  const compiled = routes.map((route) => {
    const whole = route.kind === "repository" ? `${prefix}${route.path}` : route.path;
    const patterns = [toPattern(whole)];
    if (route.kind === "repository") patterns.push(toPattern(`/repositories/{repository_id}${route.path}`));
    return { route, name: `${route.method} ${whole}`, patterns };
  });
  return (method, path) => {
    for (const { route, name, patterns } of compiled) {
      if (route.method !== method) continue;
      for (const pattern of patterns) {
        const match = pattern.exec(path);
        if (match !== null) return { route, name, params: decoded(match.groups ?? {}) };
      }
    }
    return null;
  };
}

function decoded(groups: Record<string, string>): Readonly<Record<string, string>> {
  try {
    return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch (cause) {
    throw new Refusal(refused(400, "Bad Request").answer, { cause });
  }
}

/** The body as the schema wants it, or 422 as GitHub words it. */
export function bodyOf<Schema extends z.ZodType>(call: Call, schema: Schema): z.infer<Schema> {
  const read = schema.safeParse(call.body ?? {});
  if (read.success) return read.data;
  const lines = read.error.issues.map((issue) => `"${issue.path.join(".")}": ${issue.message}`);
  throw refused(422, `Invalid request.\n\n${lines.join("\n")}`);
}

/** A parameter that must be a whole number; anything else is no such thing. */
export function numberOf(call: Call, name: string): number {
  const value = Number(call.params[name]);
  if (!Number.isSafeInteger(value) || value < 1) throw refused(404, "Not Found");
  return value;
}

export const textOf = (call: Call, name: string): string => call.params[name] ?? "";

const pageSizeDefault = 30;
const pageSizeMost = 100;

/** One page of a list, with GitHub's `Link` header. `wrap` is for the lists that come in an object. */
export function page(call: Call, items: readonly JsonObject[], wrap?: string): Answer {
  const size = Math.min(pageSizeMost, numberAsked(call, "per_page", pageSizeDefault));
  const number = numberAsked(call, "page", 1);
  const last = Math.max(1, Math.ceil(items.length / size));
  const rows = items.slice((number - 1) * size, number * size);
  const Link = linksOf(call.url, number, last);
  return {
    status: 200,
    headers: Link === "" ? {} : { Link },
    body: wrap === undefined ? rows : { total_count: items.length, [wrap]: rows },
  };
}

const numberAsked = (call: Call, name: string, usual: number): number =>
  Math.max(1, Number(call.query.get(name) ?? usual) || usual);

function linksOf(asked: URL, number: number, last: number): string {
  const link = (to: number, relation: string): string => {
    const url = new URL(asked);
    url.searchParams.set("page", String(to));
    return `<${url.href}>; rel="${relation}"`;
  };
  const back = number > 1 ? [link(number - 1, "prev")] : [];
  const onward = number < last ? [link(number + 1, "next"), link(last, "last")] : [];
  return [...back, ...onward, ...(number > 1 ? [link(1, "first")] : [])].join(", ");
}
