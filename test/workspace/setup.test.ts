import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { never, shell } from "../support/checkout.ts";
import { registryHost } from "../support/local-registry.ts";
import { openSetupPlace, type SetupPlace, setUp } from "../support/setup-phase.ts";

let place: SetupPlace;

beforeAll(async () => {
  place = await openSetupPlace();
});

afterAll(() => place[Symbol.asyncDispose]());

describe("setup's network (SEC-66, SEC-67)", () => {
  it("is not there where the settings want none, where the operator has none, and where no host is known", async () => {
    const nothingKnown = { ...place.network(), hosts: [], registries: () => Promise.resolve(nothing) };
    const nothing = { hosts: [], environment: {}, certificates: "", unusable: ["npm's registry is unusable"] };
    for (const [network, wish] of [
      [place.network(), "none"],
      [null, "registries"],
      [nothingKnown, "registries"],
    ] as const) {
      await using workspace = await place.project(network);

      const { text, hosts } = await setUp(workspace, "ls -d /opt/network; env | grep -c -i https_proxy", wish);

      expect(text).toMatch(/^ls: .*\n0\n$/);
      expect(hosts).toEqual([]);
    }
  });

  it("can't be changed from inside, and holds one socket that is the run uid's", async () => {
    await using workspace = await place.project(place.network());

    const { text } = await setUp(
      workspace,
      "rm /opt/network/proxy; touch /opt/network/more; echo x >> /opt/network/bridge.mjs; ls /opt/network",
    );

    expect(text.match(/Read-only file system|Permission denied/g)).toHaveLength(3);
    expect(text).toMatch(/\nbridge\.mjs\ncertificates\.pem\nproxy\n$/);
  });

  it("ends a setup at its time limit, bridge and all, and the next one works", async () => {
    await using workspace = await place.project(place.network());
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
    await using workspace = await place.project(place.network());

    const { result } = await setUp(workspace, "sleep 60 & exit 0");

    expect(result).toMatchObject({ exitCode: 0, killed: ["sleep"] });
  });
});

describe("npm in the setup phase", () => {
  it("installs from the registry what a lock file names at another host (SEC-68, SEC-69)", async () => {
    await using workspace = await place.project(place.network());

    const { result, text, asked } = await setUp(workspace, "npm ci && npm test");

    expect(text, text).not.toContain("ERR");
    expect(result.exitCode, text).toBe(0);
    expect(asked).toEqual([{ host: registryHost, outcome: "led_on", count: 1 }]);
    expect(place.registry.requests).toContain("/mirror/tiny/-/tiny-1.0.0.tgz");
    expect((await shell(workspace, "npm test")).exitCode).toBe(0);
  });

  it("is told so by variables, and pip to take wheels with hashes alone (SEC-70)", async () => {
    const ofManagers = "env | grep -i -e '^npm_config' -e '^pip' -e '^yarn' | sort";
    await using confined = await place.project(null);
    await using open = await place.project(null, { installScripts: true });

    const { text } = await setUp(confined, ofManagers);
    const opened = await setUp(open, ofManagers);

    expect(text.split("\n")).toEqual(
      expect.arrayContaining(["npm_config_ignore_scripts=true", "PIP_ONLY_BINARY=:all:", "PIP_REQUIRE_HASHES=1"]),
    );
    expect(opened.text).not.toMatch(/ignore_scripts|ONLY_BINARY|REQUIRE_HASHES/);
  });

  it("runs them where the operator says so", async () => {
    await using workspace = await place.project(place.network(), { installScripts: true });

    const { result, text } = await setUp(workspace, "npm ci && ls");

    expect(result.exitCode, text).toBe(0);
    expect(text).toContain("\npostinstall-ran\n");
  });

  it("gets nothing from a host that a repository's own settings name (SEC-68)", async () => {
    await using workspace = await place.project(place.network(), {
      files: { ".npmrc": "registry=https://elsewhere.test/\n" },
    });

    const own = await setUp(workspace, "npm ci");
    const forced = await setUp(workspace, "npm ci --registry=https://elsewhere.test/ --fetch-retries=0");

    expect(own.result.exitCode, own.text).toBe(0);
    expect(forced.result.exitCode).not.toBe(0);
    expect(forced.asked).toEqual([{ host: "elsewhere.test", outcome: "not_listed", count: expect.any(Number) }]);
  });
});
