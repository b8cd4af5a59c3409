import type { Secret } from "../domain/index.ts";
import { type Github, openGithub, type RepositoryName, readRepositoryAddress } from "../github/index.ts";
import type { PublishingDeps } from "../run/index.ts";
import { delay } from "./delay.ts";
import { openRuns, type RunHooks, type RunSettings } from "./open-runs.ts";
import type { CountersignDeps } from "./settings.ts";

/** What one run from the terminal needs that ends in a pull request. */
export type PublishingSettings = RunSettings & {
  readonly github: {
    readonly appId: number;
    readonly privateKey: Secret;
    readonly apiUrl: string;
    readonly gitUrl: string;
  };
  readonly publicUrl: string | null;
};

/** All that such a run needs, and the repository that was meant. */
export type Publishing = PublishingDeps & AsyncDisposable & { readonly repository: RepositoryName };

/** Opens it. Throws `USAGE` for what is no address on this GitHub, before anything is opened. */
export async function openPublishing(
  deps: CountersignDeps,
  settings: PublishingSettings,
  request: { readonly address: string; readonly hooks: RunHooks },
  signal: AbortSignal,
): Promise<Publishing> {
  const { publicUrl } = settings;
  const repository = readRepositoryAddress(request.address, settings.github.gitUrl);
  const openOurs = (markerKey: Uint8Array): Github =>
    openGithub({ clock: deps.clock, delay, redactor: deps.redactor }, { ...settings.github, markerKey });
  const runs = await openRuns(deps, { ...settings, openGithub: openOurs }, request.hooks, signal);
  return { ...runs, github: runs.github ?? openOurs(runs.keys.markerKey), publicUrl, repository };
}
