import { createAppAuth } from "@octokit/auth-app";
import { z } from "zod";
import { CountersignError, isCountersignError, Secret } from "../domain/index.ts";
import type { RepositoryPlace } from "./facts.ts";
import { type Credential, type ReadDeps, readAnswer } from "./read.ts";

/** Permissions of an installation token: GitHub's name of the permission to the level. */
export type Permissions = Readonly<Record<string, "read" | "write">>;

export type Tokens = {
  /** Of one repository and just these permissions (SEC-118). */
  readonly credential: (place: RepositoryPlace, permissions: Permissions) => Credential;
};

const Minted = z.object({ token: z.string().min(1), expires_at: z.iso.datetime({ offset: true }) });
const leastLeftMs = 10 * 60_000; // GH-110

/** The App's own credential: a JSON web token, signed anew each time. */
export function appCredential(appId: number, privateKey: Secret): Credential {
  const auth = createAppAuth({ appId, privateKey: privateKey.reveal() });
  return {
    authorization: async () => {
      // What it says of a bad key may quote the key.
      const signed = await auth({ type: "app" }).catch(() => null);
      if (signed !== null) return new Secret(`bearer ${signed.token}`);
      throw new CountersignError("GITHUB_UNAUTHORIZED", "the App's private key can't sign");
    },
    renew: () => {},
  };
}

/** Mints tokens and keeps them in memory until ten minutes before their end. */
export function createTokens(deps: ReadDeps, app: Credential): Tokens {
  const kept = new Map<string, { readonly authorization: Secret; readonly expiresAt: number }>();

  async function mint(place: RepositoryPlace, permissions: Permissions, signal: AbortSignal) {
    const request = {
      method: "POST",
      route: "/app/installations/{installation_id}/access_tokens",
      parameters: { installation_id: place.installationId, repository_ids: [place.repositoryId], permissions },
    } as const;
    try {
      const { data } = await readAnswer(deps, { request, credential: app }, Minted, signal);
      return { authorization: new Secret(`token ${data.token}`), expiresAt: Date.parse(data.expires_at) };
    } catch (error) {
      throw refusedToken(error);
    }
  }

  return {
    credential: (place, permissions) => {
      const granted = Object.entries(permissions).sort(([a], [b]) => (a < b ? -1 : 1));
      const key = JSON.stringify([place.installationId, place.repositoryId, granted]);
      return {
        authorization: async (signal) => {
          const known = kept.get(key);
          if (known !== undefined && known.expiresAt - deps.clock() >= leastLeftMs) return known.authorization;
          const minted = await mint(place, permissions, signal);
          kept.set(key, minted);
          return minted.authorization;
        },
        renew: () => {
          kept.delete(key);
        },
      };
    },
  };
}

/** GitHub answers 422 where the installation lacks the repository or a permission. Minting has no effect to lose sight of. */
function refusedToken(error: unknown): unknown {
  if (!isCountersignError(error)) return error;
  const { lost: _, ...details } = error.details;
  const code = error.code === "GITHUB_INVALID" ? "GITHUB_FORBIDDEN" : error.code;
  return new CountersignError(code, error.message, { cause: error.cause, details });
}
