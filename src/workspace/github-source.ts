import { CountersignError, type RepositoryRef, type Secret } from "../domain/index.ts";
import type { FoundSource } from "./found-source.ts";
import { isAllowedAddress } from "./remote-source.ts";

/** One commit that GitHub's API named, and what it takes to fetch it. */
export type GithubSource = {
  readonly kind: "github";
  /** Without any credential. */
  readonly url: string;
  /** `Authorization: basic …`, for git's `http.extraHeader`; sent to the host of `url` alone (SEC-77). */
  readonly authorization: Secret;
  readonly commitSha: string;
  /** By numeric id: one mirror a repository, whatever it is called (SEC-79). */
  readonly repository: RepositoryRef;
};

/** A full object name: what is fetched was named by the API, never by a ref that may move (SEC-79). */
const commitForm = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

/**
 * The commit as a source. The credential stands in git's environment as a header for this host alone: it is in no
 * argument, address or file (SEC-77). Throws `CONFIG_INVALID` for an address that is neither https nor http on loopback.
 */
export function readGithubSource(source: GithubSource): FoundSource {
  const url = URL.parse(source.url);
  if (url === null || !isAllowedAddress(url) || url.username !== "" || url.password !== "") {
    throw new CountersignError("CONFIG_INVALID", `\`${url?.host ?? source.url}\` can't be fetched from`, {
      remedy: "use an https address for git, or http for a host on this machine",
    });
  }
  if (!commitForm.test(source.commitSha)) throw new Error("the API named no commit");
  return {
    repository: source.repository,
    commitSha: source.commitSha,
    objectFormat: source.commitSha.length === 64 ? "sha256" : "sha1",
    address: url.href,
    protocol: url.protocol === "https:" ? "https" : "http",
    environment: {
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: `http.${url.origin}/.extraHeader`,
      GIT_CONFIG_VALUE_0: source.authorization.reveal(),
    },
    safeFolders: [],
    uncommitted: [],
  };
}
