import type { IncomingMessage, ServerResponse } from "node:http";
import { orRefusal, Refusal } from "./answer.ts";
import { authenticate, isGranted } from "./authenticate.ts";
import { isInScope } from "./authorize.ts";
import { faultStops } from "./faults.ts";
import { serveGit } from "./git-http.ts";
import type { ServerDeps } from "./request-log.ts";
import type { Caller } from "./router.ts";
import { fullNameOf, type Repository, repositoryByName, type World } from "./world.ts";

type Groups = Readonly<Record<string, string | undefined>>;

/** Serves `/<owner>/<repo>.git/<rest>` to those whose token may read the repository's contents. */
export async function serveGitPath(
  deps: ServerDeps,
  request: IncomingMessage,
  response: ServerResponse,
  names: Groups,
): Promise<void> {
  const method = request.method ?? "GET";
  const route = `${method} /{owner}/{repo}.git${names["rest"] ?? ""}`;
  const path = request.url ?? "/";
  const fault = deps.faults.next({ route, path });
  const finish = (status: number | null): void => {
    const more = { requestBody: undefined, answerBody: undefined, fault: fault?.kind ?? null };
    deps.log.push({ method, route, path, atMs: deps.world.clock(), status, ...more });
  };
  if (fault?.kind === "delay") await fault.until.catch(() => {});
  if (await faultStops(fault, "before", response, finish)) return;
  if (await faultStops(fault, "after", response, finish)) return; // reading has no effect that could come first
  const verdict = decide(deps.world, request, names);
  if (verdict.kind === "served") {
    finish(await serveGit(verdict.repository, names["rest"] ?? "", request, response));
    return;
  }
  finish(verdict.status);
  response.writeHead(verdict.status, { "content-type": "text/plain", ...verdict.headers }).end(verdict.text);
}

type Verdict =
  | { readonly kind: "served"; readonly repository: Repository }
  | {
      readonly kind: "refused";
      readonly status: number;
      readonly text: string;
      readonly headers?: Readonly<Record<string, string>>;
    };

const refuse = (status: number, text: string, headers: Readonly<Record<string, string>> = {}): Verdict => ({
  kind: "refused",
  status,
  text: `remote: ${text}\n`,
  headers,
});
const challenge = { "WWW-Authenticate": 'Basic realm="GitHub"' };

/** Reading only: a push is refused, since the App writes through the API alone. */
function decide(world: World, request: IncomingMessage, names: Groups): Verdict {
  const { owner = "", name = "", rest = "" } = names;
  const path = request.url ?? "/";
  const caller = orRefusal(() => authenticate(world, request.headers.authorization));
  if (caller instanceof Refusal || caller.kind === "app") return refuse(401, "Invalid username or token.", challenge);
  if (path.includes("git-receive-pack")) return refuse(403, "Write access to repository not granted.");
  const repository = repositoryByName(world, owner, name);
  if (repository !== null) return mayRead(caller, repository);
  const moved = world.repositories.get(world.formerNames.get(`${owner}/${name}`.toLowerCase()) ?? 0);
  if (moved === undefined) return refuse(404, "Repository not found.");
  const query = new URL(path, world.origin).search;
  return refuse(301, "Moved.", { Location: `/${fullNameOf(moved)}.git${rest}${query}` });
}

function mayRead(caller: Caller, repository: Repository): Verdict {
  if (caller.kind !== "installation")
    return repository.isPrivate ? refuse(401, "Repository not found.", challenge) : { kind: "served", repository };
  if (!isInScope(caller, repository)) return refuse(404, "Repository not found.");
  if (repository.isBlocked) return refuse(451, "Repository access blocked");
  if (repository.isDisabled) return refuse(403, "Repository is disabled.");
  return isGranted(caller.token.permissions, [["contents", "read"]])
    ? { kind: "served", repository }
    : refuse(403, "Resource not accessible by integration");
}
