import { z } from "zod";
import { created, notFound, ok, refused } from "./answer.ts";
import { bodyOf, type Call, numberOf, page, type Route, textOf } from "./router.ts";
import { appView, installationView, publicAccountView, repositoryView, tokenTime } from "./views.ts";
import { type Installation, type InstallationToken, installationOf, repositoryByName, type World } from "./world.ts";

const hourMs = 60 * 60 * 1000;
const TokenBody = z.object({
  repository_ids: z.array(z.number()).optional(),
  repositories: z.array(z.string()).optional(),
  permissions: z.record(z.string(), z.string()).optional(),
});

export const appRoutes: readonly Route[] = [
  { kind: "plain", method: "GET", path: "/app", needs: "app", handle: ({ world }) => ok(appView(world)) },
  {
    kind: "plain",
    method: "GET",
    path: "/app/installations",
    needs: "app",
    handle: (call) =>
      page(
        call,
        [...call.world.installations.values()].map((one) => installationView(call.world, one)),
      ),
  },
  {
    kind: "plain",
    method: "GET",
    path: "/app/installations/{installation_id}",
    needs: "app",
    handle: (call) => ok(installationView(call.world, installationFrom(call))),
  },
  {
    kind: "plain",
    method: "POST",
    path: "/app/installations/{installation_id}/access_tokens",
    needs: "app",
    handle: (call) => {
      const token = createToken(call, installationFrom(call));
      const { repositoryIds } = token;
      return created({
        token: token.token,
        expires_at: tokenTime(token.expiresAtMs),
        permissions: token.permissions,
        repository_selection: "selected",
        ...(repositoryIds === null
          ? {}
          : {
              repositories: [...repositoryIds].flatMap((id) => {
                const repository = call.world.repositories.get(id);
                return repository === undefined ? [] : [repositoryView(call.world, repository)];
              }),
            }),
      });
    },
  },
  {
    kind: "plain",
    method: "GET",
    path: "/repos/{owner}/{repo}/installation",
    needs: "app",
    handle: (call) => {
      const repository = repositoryByName(call.world, textOf(call, "owner"), textOf(call, "repo"));
      const installation = repository === null ? null : installationOf(call.world, repository);
      if (installation === null) throw notFound();
      return ok(installationView(call.world, installation));
    },
  },
  {
    kind: "plain",
    method: "GET",
    path: "/installation/repositories",
    needs: "installation",
    handle: (call) => {
      if (call.caller.kind !== "installation") throw notFound();
      const { installation, token } = call.caller;
      const reachable = [...(token.repositoryIds ?? installation.repositoryIds)];
      const repositories = reachable.flatMap((id) => call.world.repositories.get(id) ?? []);
      return page(
        call,
        repositories.map((repository) => repositoryView(call.world, repository)),
        "repositories",
      );
    },
  },
  {
    kind: "plain",
    method: "GET",
    path: "/users/{username}",
    needs: "anyone",
    handle: (call) => {
      const account = call.world.accounts.get(textOf(call, "username").toLowerCase());
      if (account === undefined) throw notFound();
      return ok(publicAccountView(call.world, account));
    },
  },
  {
    kind: "plain",
    method: "GET",
    path: "/rate_limit",
    needs: "anyone",
    handle: ({ world }) => {
      const rate = { limit: 5000, used: 0, remaining: 5000, reset: Math.floor((world.clock() + hourMs) / 1000) };
      return ok({ resources: { core: rate, search: rate, graphql: rate }, rate });
    },
  },
];

function installationFrom(call: Call): Installation {
  const installation = call.world.installations.get(numberOf(call, "installation_id"));
  if (installation === undefined) throw notFound();
  return installation;
}

function createToken(call: Call, installation: Installation): InstallationToken {
  const { world } = call;
  const body = bodyOf(call, TokenBody);
  if (installation.suspendedAt !== null) throw refused(403, "This installation has been suspended");
  const repositoryIds = repositoriesFor(world, installation, body);
  const token: InstallationToken = {
    token: `ghs_${Buffer.from(world.randomBytes(27)).toString("base64").replaceAll(/[+/]/g, "0")}`,
    installationId: installation.id,
    repositoryIds,
    permissions: permissionsFor(installation, body.permissions),
    expiresAtMs: Math.floor(world.clock() / 1000) * 1000 + hourMs,
  };
  world.tokens.set(token.token, token);
  return token;
}

function repositoriesFor(
  world: World,
  installation: Installation,
  body: z.infer<typeof TokenBody>,
): ReadonlySet<number> | null {
  const named = (body.repositories ?? []).map(
    (name) => repositoryByName(world, installation.account.login, name)?.id ?? Number.NaN,
  );
  const wanted = [...(body.repository_ids ?? []), ...named];
  if (wanted.length === 0) return null;
  if (wanted.some((id) => !installation.repositoryIds.has(id)))
    throw refused(
      422,
      "There is at least one repository that does not exist or is not accessible to the parent installation.",
    );
  return new Set(wanted);
}

/** Metadata may always be read. */
function permissionsFor(
  installation: Installation,
  wanted: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  if (wanted === undefined) return installation.permissions;
  const levels = ["read", "write", "admin"];
  for (const [name, level] of Object.entries(wanted))
    if (!levels.includes(level) || levels.indexOf(installation.permissions[name] ?? "") < levels.indexOf(level))
      throw refused(422, "The permissions requested are not granted to this installation.");
  return { ...wanted, metadata: "read" };
}
