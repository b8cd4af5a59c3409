import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { prepareTools, type SetupNetwork, type Workspace } from "../../src/workspace/index.ts";
import { aBase, aHome, aWorkspace, never, shell, type TestHome } from "../support/checkout.ts";
import { type LocalRegistry, projectFiles, registryHost, startLocalRegistry } from "../support/local-registry.ts";

let home: TestHome;
let toolsFolder: string;
let registry: LocalRegistry;

beforeAll(async () => {
  home = aHome();
  toolsFolder = await prepareTools(home.deps);
  registry = await startLocalRegistry();
});

afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  home.dispose();
});

/** Names that are listed although they lead where nothing may be dialed. */
const names = { "loopback.test": ["127.0.0.1"], "metadata.test": ["169.254.169.254"] };

function aNetwork(reach: SetupNetwork["reach"] = registry.reach(names)): SetupNetwork {
  const { certificate: certificates } = registry;
  const environment = { npm_config_registry: `https://${registryHost}/mirror/` };
  return {
    registries: () => Promise.resolve({ hosts: [registryHost], environment, certificates, unusable: [] }),
    hosts: Object.keys(names),
    internal: { host: registryHost, range: "127.0.0.0/8" },
    bytes: 10_000_000,
    reach,
  };
}

async function aProject(network: SetupNetwork | null, installScripts = false): Promise<Workspace> {
  const base = await aBase(home, projectFiles);
  return aWorkspace(home, base, { toolsFolder, setup: { installScripts, network } });
}

async function setUp(workspace: Workspace, script: string, network: "none" | "registries" = "registries") {
  const request = { program: { kind: "shell", script }, timeoutMs: 60_000, network } as const;
  const { result, ...rest } = await workspace.setUp(request, never);
  return { ...rest, result, text: Buffer.from(result.output).toString("utf8") };
}

/** Asks the bridge for a connection to each target, inside, and prints what it is told. */
const probe = (targets: readonly string[]): string => `cat > /tmp/probe.mjs <<'END'
import { connect } from "node:net";
for (const target of process.argv.slice(2)) {
  const answer = await new Promise((resolve) => {
    const socket = connect(3128, "127.0.0.1", () => socket.write("CONNECT " + target + " HTTP/1.1\\r\\n\\r\\n"));
    socket.on("data", (chunk) => { resolve(chunk.toString().split(" ")[1]); socket.destroy(); });
    socket.on("error", (error) => resolve(error.code));
    socket.on("close", () => resolve("closed"));
  });
  console.log(target + " " + answer);
}
END
node /tmp/probe.mjs ${targets.join(" ")}`;

describe("setup's network (AT-26, SEC-66, SEC-67)", () => {
  const targets = {
    [`${registryHost}:443`]: "200",
    "elsewhere.test:443": "403",
    "127.0.0.1:443": "403",
    "[::1]:443": "403",
    "loopback.test:443": "403",
    "metadata.test:443": "403",
    [`${registryHost}:80`]: "403",
  };

  it("leads from inside to the listed host alone, and every host that was asked for is on record", async () => {
    const reach = registry.reach(names);
    await using workspace = await aProject(aNetwork(reach));

    const { text, hosts, asked } = await setUp(workspace, probe(Object.keys(targets)));

    const expected = Object.entries(targets).map(([target, status]) => `${target} ${status}\n`);
    expect(text).toBe(expected.join(""));
    expect(hosts).toEqual([registryHost, ...Object.keys(names)]);
    expect(asked).toEqual([
      { host: registryHost, outcome: "no_hello", count: 1 },
      { host: "elsewhere.test", outcome: "not_listed", count: 1 },
      { host: "127.0.0.1", outcome: "ip_literal", count: 1 },
      { host: "[::1]", outcome: "ip_literal", count: 1 },
      { host: "loopback.test", outcome: "not_public", count: 1 },
      { host: "metadata.test", outcome: "not_public", count: 1 },
      { host: registryHost, outcome: "not_port_443", count: 1 },
    ]);
    expect(reach.log.filter((line) => line.startsWith("dial"))).toEqual(["dial 127.0.0.1:443"]);
  });

  it("is gone in every later command: no socket, no bridge, no variable", async () => {
    await using workspace = await aProject(aNetwork());
    const during = await setUp(workspace, "ls /opt/network; env | grep -ci proxy");
    const look = `ls /opt/network; env | grep -i -e proxy -e npm -e pip; find / -xdev -type s 2>/dev/null; ${probe([`${registryHost}:443`])}`;

    const after = await shell(workspace, look);

    expect(during.text).toBe("bridge.mjs\ncertificates.pem\nproxy\n2\n");
    expect(after.text).toMatch(/^ls: .*\/opt\/network.*\nregistry\.test:443 ECONNREFUSED\n$/);
  });

  it("is not there where the settings want none, where the operator has none, and where no host is known", async () => {
    const nothingKnown = { ...aNetwork(), hosts: [], registries: () => Promise.resolve(nothing) };
    const nothing = { hosts: [], environment: {}, certificates: "", unusable: ["npm's registry is unusable"] };
    for (const [network, wish] of [
      [aNetwork(), "none"],
      [null, "registries"],
      [nothingKnown, "registries"],
    ] as const) {
      await using workspace = await aProject(network);

      const { text, hosts } = await setUp(workspace, "ls -d /opt/network; env | grep -c -i https_proxy", wish);

      expect(text).toMatch(/^ls: .*\n0\n$/);
      expect(hosts).toEqual([]);
    }
  });

  it("can't be changed from inside, and holds one socket that is the run uid's", async () => {
    await using workspace = await aProject(aNetwork());

    const { text } = await setUp(
      workspace,
      "rm /opt/network/proxy; touch /opt/network/more; echo x >> /opt/network/bridge.mjs; ls /opt/network",
    );

    expect(text.match(/Read-only file system|Permission denied/g)).toHaveLength(3);
    expect(text).toMatch(/\nbridge\.mjs\ncertificates\.pem\nproxy\n$/);
  });

  it("ends a setup at its time limit, bridge and all, and the next one works", async () => {
    await using workspace = await aProject(aNetwork());
    const request = {
      program: { kind: "shell", script: "sleep 60" },
      timeoutMs: 1_000,
      network: "registries",
    } as const;

    const { result } = await workspace.setUp(request, never);

    expect(result).toMatchObject({ timedOut: true, exitCode: null });
    expect((await setUp(workspace, "exit 3")).result).toMatchObject({ exitCode: 3, killed: [] });
  });

  it("names what a setup leaves running, and not its own bridge", async () => {
    await using workspace = await aProject(aNetwork());

    const { result } = await setUp(workspace, "sleep 60 & exit 0");

    expect(result).toMatchObject({ exitCode: 0, killed: ["sleep"] });
  });
});

describe("npm in the setup phase", () => {
  it("installs from the registry what a lock file names at another host (SEC-68, SEC-69)", async () => {
    await using workspace = await aProject(aNetwork());

    const { result, text, asked } = await setUp(workspace, "npm ci && npm test");

    expect(text, text).not.toContain("ERR");
    expect(result.exitCode, text).toBe(0);
    expect(asked).toEqual([{ host: registryHost, outcome: "led_on", count: 1 }]);
    expect(registry.requests).toContain("/mirror/tiny/-/tiny-1.0.0.tgz");
    expect((await shell(workspace, "npm test")).exitCode).toBe(0);
  });

  it("runs no script of a package or of the project, whatever their own settings say (AT-27, SEC-70)", async () => {
    const base = await aBase(home, { ...projectFiles, ".npmrc": "ignore-scripts=false\n" });
    await using workspace = await aWorkspace(home, base, {
      toolsFolder,
      setup: { installScripts: false, network: aNetwork() },
    });

    const { result, text } = await setUp(workspace, "npm ci && ls");

    expect(result.exitCode, text).toBe(0);
    expect(text).toMatch(/\nnode_modules\npackage-lock\.json\npackage\.json\ntest\.cjs\n$/);
  });

  it("is told so by variables, and pip to take wheels with hashes alone (SEC-70)", async () => {
    const ofManagers = "env | grep -i -e '^npm_config' -e '^pip' -e '^yarn' | sort";
    await using confined = await aProject(null);
    await using open = await aProject(null, true);

    const { text } = await setUp(confined, ofManagers);
    const opened = await setUp(open, ofManagers);

    expect(text.split("\n")).toEqual(
      expect.arrayContaining(["npm_config_ignore_scripts=true", "PIP_ONLY_BINARY=:all:", "PIP_REQUIRE_HASHES=1"]),
    );
    expect(opened.text).not.toMatch(/ignore_scripts|ONLY_BINARY|REQUIRE_HASHES/);
  });

  it("runs them where the operator says so", async () => {
    await using workspace = await aProject(aNetwork(), true);

    const { result, text } = await setUp(workspace, "npm ci && ls");

    expect(result.exitCode, text).toBe(0);
    expect(text).toContain("\npostinstall-ran\n");
  });

  it("gets nothing from a host that a repository's own settings name (SEC-68)", async () => {
    const base = await aBase(home, { ...projectFiles, ".npmrc": "registry=https://elsewhere.test/\n" });
    await using workspace = await aWorkspace(home, base, {
      toolsFolder,
      setup: { installScripts: false, network: aNetwork() },
    });

    const own = await setUp(workspace, "npm ci");
    const forced = await setUp(workspace, "npm ci --registry=https://elsewhere.test/ --fetch-retries=0");

    expect(own.result.exitCode, own.text).toBe(0);
    expect(forced.result.exitCode).not.toBe(0);
    expect(forced.asked).toEqual([{ host: "elsewhere.test", outcome: "not_listed", count: expect.any(Number) }]);
  });
});
