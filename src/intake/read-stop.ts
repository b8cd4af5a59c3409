import type { DeliveryCode, StopCause } from "../domain/index.ts";
import { type ActorRules, triggerLabel } from "./actor-rules.ts";
import { InstallationPayload, ItemPayload, RemovedPayload, RepositoryPayload, type Sender } from "./payload-shapes.ts";
import type { Reading, SignedDelivery, StopScope } from "./reading.ts";

/** The last row of `github.md` section 1. Stopping is the safe side: nobody is asked for a right (GH-13). */
const causes: ReadonlyMap<string, StopCause> = new Map([
  ["issues.unlabeled", "label_removed"],
  ["issues.closed", "item_closed"],
  ["issues.transferred", "item_transferred"],
  ["issues.deleted", "item_deleted"],
  ["pull_request.closed", "item_closed"],
  ["installation.deleted", "installation_deleted"],
  ["installation.suspend", "installation_suspended"],
  ["installation_repositories.removed", "repository_removed"],
  ["repository.archived", "repository_archived"],
  ["repository.deleted", "repository_deleted"],
  ["repository.transferred", "repository_transferred"],
]);

export const stopEvents: ReadonlySet<string> = new Set(causes.keys());

type Found = { readonly scope: StopScope; readonly at: string | null; readonly sender: Sender };

export function readStop(rules: ActorRules, event: string, { payload, bodyDigest }: SignedDelivery): Reading {
  const ignored = (code: DeliveryCode): Reading => ({ kind: "ignored", event, code });
  const cause = causes.get(event);
  const found = cause === undefined ? null : findScope(event, payload);
  if (cause === undefined || found === null) return ignored("shape_unknown");
  if (found === "other_label") return ignored("other_label");
  // GH-33: what we do ourselves to an item stops nothing.
  if (found.sender.id === rules.ownApp.botUserId) return ignored("own_app");
  return { kind: "stop", event, businessKey: `stop:${event}:${bodyDigest}`, cause, ...found };
}

function findScope(event: string, payload: unknown): Found | "other_label" | null {
  const [name] = event.split(".");
  switch (name) {
    case "issues":
    case "pull_request":
      return itemScope(event, payload);
    case "installation": {
      const parsed = InstallationPayload.safeParse(payload);
      if (!parsed.success) return null;
      const { installation, sender } = parsed.data;
      return { scope: { kind: "installation", id: installation.id }, at: null, sender };
    }
    case "installation_repositories": {
      const parsed = RemovedPayload.safeParse(payload);
      if (!parsed.success) return null;
      const ids = parsed.data.repositories_removed.map(({ id }) => id);
      return { scope: { kind: "repositories", ids }, at: null, sender: parsed.data.sender };
    }
    default: {
      const parsed = RepositoryPayload.safeParse(payload);
      if (!parsed.success) return null;
      const { repository, sender } = parsed.data;
      return { scope: { kind: "repositories", ids: [repository.id] }, at: null, sender };
    }
  }
}

function itemScope(event: string, payload: unknown): Found | "other_label" | null {
  const parsed = ItemPayload.safeParse(payload);
  if (!parsed.success) return null;
  const { repository, sender, label } = parsed.data;
  const item = event.startsWith("issues.") ? parsed.data.issue : parsed.data.pull_request;
  if (item === undefined) return null;
  if (event === "issues.unlabeled" && label?.name !== triggerLabel) return "other_label";
  const scope = { kind: "item", repositoryId: repository.id, number: item.number } as const;
  return { scope, at: item.updated_at ?? null, sender };
}
