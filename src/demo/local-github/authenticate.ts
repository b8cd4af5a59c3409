import { verify } from "node:crypto";
import { z } from "zod";
import { refused } from "./answer.ts";
import type { Caller } from "./router.ts";
import type { Level, Permissions, World } from "./world.ts";

/** GitHub refuses a longer life of an App's JSON web token, and takes a minute of difference between clocks. */
const longestLifeS = 10 * 60;

const Header = z.object({ alg: z.literal("RS256") });
const Claims = z.object({ iat: z.number(), exp: z.number(), iss: z.union([z.string(), z.number()]) });

/** Who calls, by the `Authorization` header. Refuses what it can't place with 401, as GitHub does. */
export function authenticate(world: World, header: string | undefined): Caller {
  if (header === undefined || header === "") return { kind: "anonymous" };
  const [scheme = "", value = ""] = header.split(" ");
  if (/^basic$/i.test(scheme)) return byToken(world, Buffer.from(value, "base64").toString("utf8").split(":")[1] ?? "");
  if (!/^(bearer|token)$/i.test(scheme)) throw refused(401, "Bad credentials");
  return value.split(".").length === 3 ? byJsonWebToken(world, value) : byToken(world, value);
}

function byToken(world: World, value: string): Caller {
  const token = world.tokens.get(value);
  const installation = token === undefined ? undefined : world.installations.get(token.installationId);
  if (token === undefined || installation === undefined || token.expiresAtMs <= world.clock())
    throw refused(401, "Bad credentials");
  if (installation.suspendedAt !== null) throw refused(403, "This installation has been suspended");
  return { kind: "installation", installation, token };
}

function byJsonWebToken(world: World, value: string): Caller {
  const [head = "", claimed = "", signature = ""] = value.split(".");
  const claims = Claims.safeParse(readPart(claimed));
  const isSigned =
    Header.safeParse(readPart(head)).success &&
    verify("sha256", Buffer.from(`${head}.${claimed}`), world.app.publicKey, Buffer.from(signature, "base64url"));
  if (!isSigned || !claims.success) throw refused(401, "A JSON web token could not be decoded");
  const { iat, exp, iss } = claims.data;
  const nowS = world.clock() / 1000;
  if (String(iss) !== String(world.app.id) && iss !== world.app.clientId) throw refused(401, "Integration not found");
  if (iat > nowS + 60)
    throw refused(
      401,
      "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
    );
  if (exp <= nowS)
    throw refused(
      401,
      "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
    );
  if (exp > nowS + longestLifeS) throw refused(401, "'Expiration time' claim ('exp') is too far in the future");
  return { kind: "app" };
}

function readPart(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
  } catch {
    return null;
  }
}

const levels: Readonly<Record<string, number>> = { read: 1, write: 2, admin: 3 };

/** Whether permissions hold one of those needed. `metadata` comes with every installation. */
export const isGranted = (permissions: Permissions, needs: readonly (readonly [string, Level])[]): boolean =>
  needs.some(
    ([name, level]) =>
      (name === "metadata" && level === "read") || (levels[permissions[name] ?? ""] ?? 0) >= (levels[level] ?? 9),
  );
