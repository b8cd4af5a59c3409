import type { AppFacts } from "../github/index.ts";
import type { AppManifest } from "./app-manifest.ts";

/** One part that was tried for real. */
export type Check = {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** What to do, where it is not ok. */
  readonly remedy: string;
};

/** What GitHub says of the App's webhook: "Get a webhook configuration for an app" of its REST reference. */
export type WebhookFacts = { readonly url: string | null; readonly contentType: string; readonly verifiesTls: boolean };

const levels = ["none", "read", "write", "admin"];
const atLeast = (granted: string | undefined, asked: string): boolean =>
  levels.indexOf(granted ?? "none") >= levels.indexOf(asked);

/**
 * Compares an App with `app.yml`: less than it asks for does not hold, more is named (SEC-117). What an installation's owner
 * accepted may be less still; that shows where the installation is used.
 */
export function checkApp(facts: AppFacts, manifest: AppManifest): readonly Check[] {
  const asked = Object.entries(manifest.default_permissions);
  const missing = asked.filter(([name, level]) => !atLeast(facts.permissions[name], level));
  const more = Object.entries(facts.permissions).filter(
    ([name, level]) => !atLeast(manifest.default_permissions[name], level),
  );
  const unheard = manifest.default_events.filter((event) => !facts.events.includes(event));
  const named = (pairs: readonly (readonly [string, string])[]): string =>
    pairs.map(([name, level]) => `${name}: ${level}`).join(", ");
  return [
    {
      name: "github permissions",
      ok: missing.length === 0,
      detail:
        (missing.length === 0 ? named(asked) : `missing ${named(missing)}`) +
        (more.length === 0 ? "" : `; more than is needed: ${named(more)}`),
      remedy: "set them in the App's settings on GitHub, then accept them in each installation",
    },
    {
      name: "github events",
      ok: unheard.length === 0,
      detail: unheard.length === 0 ? manifest.default_events.join(", ") : `missing ${unheard.join(", ")}`,
      remedy: "subscribe to them in the App's settings on GitHub",
    },
  ];
}

/** Whether deliveries can be taken as they are sent. */
export function checkWebhook(facts: WebhookFacts): Check {
  const faults = [
    ...(facts.url === null ? ["no address is set"] : []),
    ...(facts.contentType === "json" ? [] : [`sent as \`${facts.contentType}\`, not as json`]),
    ...(facts.verifiesTls ? [] : ["the certificate is not verified"]),
  ];
  return {
    name: "github webhook",
    ok: faults.length === 0,
    detail: [...(facts.url === null ? [] : [facts.url]), ...faults].join("; "),
    remedy: "correct the webhook in the App's settings on GitHub",
  };
}
