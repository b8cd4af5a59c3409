import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { z } from "zod";

/** What `app.yml` says: GitHub's manifest without the addresses, which only the operator knows. */
const AppManifest = z.strictObject({
  name: z.string().min(1).max(34),
  url: z.url(),
  public: z.boolean(),
  default_permissions: z.record(z.string(), z.enum(["read", "write"])),
  default_events: z.array(z.string()),
});
export type AppManifest = z.infer<typeof AppManifest>;

/** Reads `app.yml`, which is shipped: a wrong one is a bug. */
export async function readAppManifest(path: string): Promise<AppManifest> {
  return AppManifest.parse(parse(await readFile(path, "utf8")));
}

/** The manifest as the form sends it ("Registering a GitHub App from a manifest" of GitHub's documentation). */
export function toRegistration(
  manifest: AppManifest,
  addresses: { readonly home: string; readonly webhook: string; readonly callback: string },
): string {
  return JSON.stringify({
    ...manifest,
    url: addresses.home,
    hook_attributes: { url: addresses.webhook, active: true },
    redirect_url: addresses.callback,
  });
}
