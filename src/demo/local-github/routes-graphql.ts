import { z } from "zod";
import { type Answer, ok, refused } from "./answer.ts";
import { isGranted } from "./authenticate.ts";
import { actorOf } from "./caller.ts";
import { setDraft } from "./change-pulls.ts";
import { bodyOf, type Call, type Route } from "./router.ts";
import { nodeId } from "./views.ts";
import { isPull } from "./views-pull.ts";

const Query = z.object({ query: z.string(), variables: z.record(z.string(), z.unknown()).default({}) });
const mutations = /\b(?<name>markPullRequestReadyForReview|convertPullRequestToDraft)\b/;

/**
 * GraphQL has here what REST has not: whether a pull request is a draft. The two mutations are known by their names, the
 * pull request by its `node_id` in the variables or in the text.
 */
export const graphqlRoute: Route = {
  kind: "plain",
  method: "POST",
  path: "/graphql",
  needs: "installation",
  handle: mutate,
};

async function mutate(call: Call): Promise<Answer> {
  if (call.caller.kind !== "installation") throw refused(401, "Requires authentication");
  const { token, installation } = call.caller;
  const { query, variables } = bodyOf(call, Query);
  const name = mutations.exec(query)?.groups?.["name"];
  if (name === undefined) return failed("UNKNOWN", "this GraphQL is not known here");
  if (!isGranted(token.permissions, [["pull_requests", "write"]]))
    return failed("FORBIDDEN", "Resource not accessible by integration");
  const text = `${query}${JSON.stringify(variables)}`;
  for (const id of token.repositoryIds ?? installation.repositoryIds) {
    const repository = call.world.repositories.get(id);
    const pulls = [...(repository?.items.values() ?? [])].filter(isPull);
    const item = pulls.find(({ pull }) => text.includes(`"${nodeId("PR", pull.id)}"`));
    if (repository === undefined || item === undefined) continue;
    const isDraft = name === "convertPullRequestToDraft";
    await setDraft(call.world, repository, actorOf(call), { item, isDraft });
    return ok({ data: { [name]: { pullRequest: { id: nodeId("PR", item.pull.id), isDraft, number: item.number } } } });
  }
  return failed("NOT_FOUND", "Could not resolve to a node with the global id");
}

const failed = (type: string, message: string): Answer => ok({ data: null, errors: [{ type, message }] });
