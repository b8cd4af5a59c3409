import { createPrivateKey, type KeyObject, sign } from "node:crypto";
import { z } from "zod";
import { type Clock, CountersignError, isCountersignError, late, Secret } from "../domain/index.ts";
import type { RepositoryPlace } from "./facts.ts";
import { type Credential, type ReadDeps, readAnswer } from "./read.ts";

/** Permissions of an installation token: GitHub's name of the permission to the level. */
export type Permissions = Readonly<Record<string, "read" | "write">>;

/** `repositoryId` null: for what belongs to no repository, with a permission that opens none. */
export type TokenPlace = Pick<RepositoryPlace, "installationId"> & { readonly repositoryId: number | null };

export type Tokens = {
  /** Of one repository and just these permissions (SEC-118). */
  readonly credential: (place: TokenPlace, permissions: Permissions) => Credential;
};

const Minted = z.object({ token: z.string().min(1), expires_at: z.iso.datetime({ offset: true }) });
const leastLeftMs = 10 * 60_000; // GH-110

/** RS256 as "Generating a JSON Web Token (JWT) for a GitHub App" asks for it: issued a minute ago, for clocks that differ,
 * and over before the ten minutes that GitHub allows. */
function signedWord(
  appId: number,
  key: KeyObject,
  nowMs: number,
): { readonly jwt: string; readonly expiresAt: string } {
  const nowS = Math.floor(nowMs / 1000);
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const expiresS = nowS + 9 * 60;
  const content = `${part({ alg: "RS256", typ: "JWT" })}.${part({ iat: nowS - 60, exp: expiresS, iss: String(appId) })}`;
  const jwt = `${content}.${sign("sha256", Buffer.from(content), key).toString("base64url")}`;
  return { jwt, expiresAt: new Date(expiresS * 1000).toISOString() };
}

/** A key in one line has `\\n` for its line ends, as with Probot. */
function parseKey(privateKey: Secret): KeyObject {
  const pem = privateKey.reveal().replaceAll("\\n", "\n");
  try {
    return createPrivateKey(pem);
  } catch {
    // OpenSSL now and then reports another call's failure for a good key (seen on Node 24: "asn1 encoding routines::too long").
    return createPrivateKey(pem);
  }
}

/** The App's own credential, signed anew each time; the key is parsed once. */
export function appCredential(clock: Clock, appId: number, privateKey: Secret): Credential {
  let key: KeyObject | null = null;
  // biome-ignore lint/suspicious/useAwait: a key that isn't one is then a rejection
  const createJwt = async (): Promise<{ readonly jwt: string; readonly expiresAt: string }> => {
    key ??= parseKey(privateKey);
    return signedWord(appId, key, clock());
  };
  const auth = late(async () => {
    const { createAppAuth } = await import("@octokit/auth-app");
    return () => createAppAuth({ appId, createJwt })({ type: "app" });
  });
  return {
    authorization: async () => {
      // What it says of a bad key may quote the key.
      const signed = await auth().catch(() => null);
      if (signed !== null) return new Secret(`bearer ${signed.token}`);
      throw new CountersignError("GITHUB_UNAUTHORIZED", "the App's private key can't sign");
    },
    renew: () => {},
  };
}

/** Mints tokens and keeps them in memory until ten minutes before their end. */
export function createTokens(deps: ReadDeps, app: Credential): Tokens {
  const kept = new Map<string, { readonly authorization: Secret; readonly expiresAt: number }>();

  async function mint(place: TokenPlace, permissions: Permissions, signal: AbortSignal) {
    const repositories = place.repositoryId === null ? {} : { repository_ids: [place.repositoryId] };
    const request = {
      method: "POST",
      route: "/app/installations/{installation_id}/access_tokens",
      parameters: { installation_id: place.installationId, ...repositories, permissions },
    } as const;
    try {
      const { data } = await readAnswer(deps, { request, credential: app }, Minted, signal);
      deps.redactor.learn(new Secret(data.token)); // before anything can be done with it
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
