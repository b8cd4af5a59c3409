import type { JsonObject } from "../../domain/index.ts";
import { accountView, nodeId, repositoryView } from "./views.ts";
import { type Account, type Installation, installationOf, type Repository, type World } from "./world.ts";

/** Who changes something: a person at the pages, or the App's bot through the API. */
export type Actor = { readonly account: Account; readonly viaApp: boolean };

const installationBrief = (installation: Installation | null): JsonObject =>
  installation === null ? {} : { installation: { id: installation.id, node_id: nodeId("IN", installation.id) } };

/** Tells the App about a change in a repository. `more` is what the event has of its own. */
export function tell(
  world: World,
  repository: Repository,
  what: { readonly event: string; readonly action: string | null; readonly by: Actor },
  more: JsonObject,
): void {
  const installation = installationOf(world, repository);
  if (installation === null || installation.suspendedAt !== null) return;
  world.emit({
    event: what.event,
    action: what.action,
    repository,
    installation,
    payload: {
      ...(what.action === null ? {} : { action: what.action }),
      ...more,
      repository: repositoryView(world, repository),
      sender: accountView(world, what.by.account),
      ...installationBrief(installation),
    },
  });
}
