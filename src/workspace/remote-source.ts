import { CountersignError } from "../domain/index.ts";
import { type FoundSource, localRepositoryId } from "./found-source.ts";
import { runGit } from "./git.ts";
import type { WorkspaceDeps } from "./host.ts";

const loopbackHosts = new Set(["127.0.0.1", "[::1]", "localhost"]);

/** Asks a URL for its default branch. https only; http for a loopback host (SEC-78). Throws NOT_A_REPOSITORY, CONFIG_INVALID. */
export async function readRemoteSource(deps: WorkspaceDeps, typed: string, signal: AbortSignal): Promise<FoundSource> {
  const url = parseAddress(typed);
  const protocol = url.protocol === "https:" ? "https" : "http";
  const answer = await runGit(
    deps,
    {
      arguments: ["ls-remote", "--quiet", "--end-of-options", url.href, "HEAD"],
      gitFolder: null,
      settings: [`protocol.${protocol}.allow=always`],
      purpose: `ask \`${url.href}\` for its default branch`,
      code: "NOT_A_REPOSITORY",
    },
    signal,
  );
  const commitSha = /^([0-9a-f]{40}|[0-9a-f]{64})\tHEAD$/m.exec(answer.toString("latin1"))?.[1];
  if (commitSha === undefined) throw new CountersignError("NOT_A_REPOSITORY", `\`${url.href}\` has no commit yet`);
  return {
    repository: { id: localRepositoryId(url.href), name: url.pathname.replace(/^\/|(\.git)?\/*$/g, "") },
    commitSha,
    objectFormat: commitSha.length === 64 ? "sha256" : "sha1",
    address: url.href,
    protocol,
    safeFolders: [],
    uncommitted: [],
  };
}

/** https; http for a loopback host alone (SEC-78). */
export const isAllowedAddress = (url: URL): boolean =>
  url.protocol === "https:" || (url.protocol === "http:" && loopbackHosts.has(url.hostname));

function parseAddress(typed: string): URL {
  const url = URL.parse(typed);
  const refuse = (cause: string): never => {
    throw new CountersignError("USAGE", `\`${url === null ? typed : `${url.protocol}//${url.host}`}\` ${cause}`);
  };
  if (url === null) return refuse("is no address");
  if (!isAllowedAddress(url)) return refuse("is neither https nor http on a loopback host");
  if (url.username !== "" || url.password !== "") return refuse("was given with a password; an address must hold none");
  return url;
}
