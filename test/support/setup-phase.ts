import { inject } from "vitest";
import { prepareTools, type SetupNetwork, type Workspace } from "../../src/workspace/index.ts";
import { aBase, aHome, aWorkspace, type Content, never, type TestHome } from "./checkout.ts";
import { type LocalRegistry, projectFiles, registryHost, startLocalRegistry } from "./local-registry.ts";
import { isStoreHomeOurs } from "./test-store.ts";

/** Names that are listed although they lead where nothing may be dialed. */
export const namesOfNobody = { "loopback.test": ["127.0.0.1"], "metadata.test": ["169.254.169.254"] };

/** A home whose workspaces can be set up from a registry of this process's own. */
export type SetupPlace = AsyncDisposable & {
  readonly home: TestHome;
  readonly registry: LocalRegistry;
  readonly network: (reach?: SetupNetwork["reach"]) => SetupNetwork;
  /** A project with one package, and what is given beside it. */
  readonly project: (
    network: SetupNetwork | null,
    more?: { readonly installScripts?: boolean; readonly files?: Readonly<Record<string, Content>> },
  ) => Promise<Workspace>;
};

export async function openSetupPlace(): Promise<SetupPlace> {
  const home = aHome();
  // One copy for all tests of this run where it is ours.
  const ofTools = isStoreHomeOurs() ? { ...home.deps, home: inject("storeHome") } : home.deps;
  const toolsFolder = await prepareTools(ofTools);
  const registry = await startLocalRegistry();
  return {
    ...{ home, registry },
    network: (reach = registry.reach(namesOfNobody)) => {
      const { certificate: certificates } = registry;
      const environment = { npm_config_registry: `https://${registryHost}/mirror/` };
      return {
        registries: () => Promise.resolve({ hosts: [registryHost], environment, certificates, unusable: [] }),
        hosts: Object.keys(namesOfNobody),
        internal: { host: registryHost, range: "127.0.0.0/8" },
        bytes: 10_000_000,
        reach,
      };
    },
    project: async (network, { installScripts = false, files = {} } = {}) => {
      const base = await aBase(home, { ...projectFiles, ...files });
      return aWorkspace(home, base, { toolsFolder, setup: { installScripts, network } });
    },
    [Symbol.asyncDispose]: async () => {
      await registry[Symbol.asyncDispose]();
      home.dispose();
    },
  };
}

/** Runs bash text as the setup. */
export async function setUp(workspace: Workspace, script: string, network: "none" | "registries" = "registries") {
  const request = { program: { kind: "shell", script }, timeoutMs: 60_000, network } as const;
  const { result, ...rest } = await workspace.setUp(request, never);
  return { ...rest, result, text: Buffer.from(result.output).toString("utf8") };
}
