import { CountersignError } from "../domain/index.ts";
import { type AppFacts, type AppWebhook, checkPermissions } from "../github/index.ts";
import type { AppManifest } from "./app-manifest.ts";

/** One part that was tried for real. */
export type Check = {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** What to do, where it is not ok. */
  readonly remedy: string;
};

/**
 * Compares an App with `app.yml`: less than it asks for does not hold, more is named (SEC-117). What an installation's owner
 * accepted may be less still; that shows where the installation is used.
 */
export function checkApp(facts: AppFacts, manifest: AppManifest): readonly Check[] {
  const { missing, superfluous } = checkPermissions(facts.permissions);
  const unheard = manifest.default_events.filter((event) => !facts.events.includes(event));
  const lacks = missing.map(({ permission, needed, granted }) => `${permission}: ${needed} (granted: ${granted})`);
  const more = superfluous.map(({ permission, granted }) => `${permission}: ${granted}`);
  return [
    {
      name: "github permissions",
      ok: missing.length === 0,
      detail:
        (missing.length === 0 ? "all that are needed" : `missing ${lacks.join(", ")}`) +
        (more.length === 0 ? "" : `; more than is needed: ${more.join(", ")}`),
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

/** Refuses a start with less than is needed, and names what is more (SEC-117). Throws `GITHUB_FORBIDDEN`. */
export function requirePermissions(facts: AppFacts, notice: (line: string) => void): void {
  const { missing, superfluous } = checkPermissions(facts.permissions);
  if (superfluous.length > 0) {
    const more = superfluous.map(({ permission, granted }) => `${permission}: ${granted}`);
    notice(`the App may do more than it needs: ${more.join(", ")}; take that away in its settings on GitHub`);
  }
  if (missing.length === 0) return;
  const lacks = missing.map(({ permission, needed }) => `${permission}: ${needed}`);
  throw new CountersignError("GITHUB_FORBIDDEN", `App ${facts.id} lacks the permissions ${lacks.join(", ")}`, {
    remedy: "set them in the App's settings on GitHub, then accept them in each installation",
  });
}

/** Whether deliveries can be taken as they are sent. */
export function checkWebhook(facts: AppWebhook): Check {
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
