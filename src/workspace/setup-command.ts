import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ExecResult } from "../domain/index.ts";
import { openConnectProxy } from "./connect-proxy.ts";
import { type Owner, randomName, type WorkspaceDeps } from "./host.ts";
import { type ProxyRules, type Reach, usualProxyLimits } from "./proxy-rules.ts";
import type { Registries } from "./registries.ts";
import { removeFolder } from "./remove-folder.ts";
import { makeFolderWith, writeReadable } from "./sandbox-place.ts";
import { bridgeUrl, certificatesInside, networkFiles } from "./setup-bridge.ts";
import type { SetupRequest, SetupResult } from "./workspace.ts";

/** What the operator lets setup have of the network, and how it is reached. */
export type SetupNetwork = {
  /** Asked for each setup that wants a network. */
  readonly registries: (signal: AbortSignal) => Promise<Registries>;
  /** Beside those of the registries. */
  readonly hosts: readonly string[];
  readonly internal: ProxyRules["internal"];
  /** Of all connections of one setup together, both ways. */
  readonly bytes: number;
  readonly reach: Reach;
};

export type SetupOptions = {
  /** Whether packages may run code of their own while they are installed (SEC-70). */
  readonly installScripts: boolean;
  /** Null: no setup has a network. */
  readonly network: SetupNetwork | null;
};

/** What the sandbox of a setup has beyond that of every other command. */
export type SetupExtras = {
  readonly environment: Readonly<Record<string, string>>;
  readonly networkFolder?: string;
};

const noNetwork = { hosts: [], asked: [], unusable: [] };

/**
 * One setup command, by `run` in a sandbox that has, where the request wants it and the operator allows it, a way to listed hosts
 * (SEC-65 to SEC-70). The way is made for this command and gone after it.
 */
export async function setUpTree(
  deps: Pick<WorkspaceDeps, "randomBytes">,
  place: { readonly runFolder: string; readonly owner: Owner; readonly options: SetupOptions },
  { request, run }: { readonly request: SetupRequest; readonly run: (extras: SetupExtras) => Promise<ExecResult> },
  signal: AbortSignal,
): Promise<SetupResult> {
  const { network } = place.options;
  const environment = installEnvironment(place.options);
  if (request.network === "none" || network === null) return { result: await run({ environment }), ...noNetwork };
  const registries = await network.registries(signal);
  const { unusable } = registries;
  const rules = rulesOf(network, registries);
  if (rules.hosts.size === 0) return { result: await run({ environment }), ...noNetwork, unusable };

  const networkFolder = join(place.runFolder, `network-${randomName(deps)}`);
  try {
    await layBridge(networkFolder, registries.certificates);
    await using proxy = await openConnectProxy(network.reach, rules, { folder: networkFolder, owner: place.owner });
    const inside = { ...environment, ...networkEnvironment(registries) };
    const result = await run({ environment: inside, networkFolder });
    return { result, hosts: [...rules.hosts], asked: proxy.asked(), unusable };
  } finally {
    await removeFolder(networkFolder);
  }
}

const rulesOf = ({ hosts, internal, bytes }: SetupNetwork, registries: Registries): ProxyRules => ({
  hosts: new Set([...registries.hosts, ...hosts]),
  internal,
  limits: { ...usualProxyLimits, bytes },
});

const bridgeSource = new URL("./setup-bridge.mjs", import.meta.url);

async function layBridge(folder: string, certificates: string): Promise<void> {
  makeFolderWith(folder, 0o755);
  writeReadable(join(folder, networkFiles.bridge), await readFile(bridgeSource, "utf8"));
  if (certificates !== "") writeReadable(join(folder, networkFiles.certificates), certificates);
}

/**
 * Variables go before a repository's own `.npmrc` and `pip.conf`. Entries of a lock file that name another host are asked for at
 * the registry (SEC-69), and no package runs anything of its own unless the operator says so (SEC-70).
 */
function installEnvironment({ installScripts }: SetupOptions): Readonly<Record<string, string>> {
  const quiet = {
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_update_notifier: "false",
    npm_config_replace_registry_host: "always",
    PIP_DISABLE_PIP_VERSION_CHECK: "1",
    PIP_NO_INPUT: "1",
  };
  const withoutScripts = {
    npm_config_ignore_scripts: "true",
    YARN_ENABLE_SCRIPTS: "false",
    PIP_REQUIRE_HASHES: "1",
    PIP_ONLY_BINARY: ":all:",
  };
  return installScripts ? quiet : { ...quiet, ...withoutScripts };
}

/** Node knows the public certificates; those of the machine, and of the operator's file, it is told of. */
const networkEnvironment = ({ environment, certificates }: Registries): Readonly<Record<string, string>> => ({
  ...environment,
  HTTPS_PROXY: bridgeUrl,
  https_proxy: bridgeUrl,
  NODE_USE_SYSTEM_CA: "1",
  ...(certificates === "" ? {} : { NODE_EXTRA_CA_CERTS: certificatesInside }),
});
