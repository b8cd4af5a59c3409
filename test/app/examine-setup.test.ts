import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkSetupHosts } from "../../src/app/examine-setup.ts";
import { hostReach } from "../../src/workspace/index.ts";
import { aHome, never, type TestHome } from "../support/checkout.ts";

type Setup = Parameters<typeof checkSetupHosts>[2];

let home: TestHome;
beforeAll(() => {
  home = aHome();
});
afterAll(() => home.dispose());

const wanted: Setup = {
  ...{ timeoutMs: 1, network: "registries", hosts: [], internalHost: null, bytes: 1, installScripts: false },
};

/** With npm and pip as this environment alone sets them up. */
const check = (packageManagers: Readonly<Record<string, string>>, changes: Partial<Setup> = {}) =>
  checkSetupHosts(home.deps, { setupNetwork: { reach: hostReach, packageManagers } }, { ...wanted, ...changes }, never);

describe("doctor's line on the hosts that a setup reaches (SEC-68)", () => {
  it("names those of the package managers and those of the operator", async () => {
    const environment = { npm_config_registry: "https://packages.example/npm/", PIP_CONFIG_FILE: "/dev/null" };
    const internalHost = { host: "mirror.example", addresses: "192.0.2.0/24" };

    const said = await check(environment, { hosts: ["extra.example"], internalHost });

    const detail = "packages.example, extra.example, mirror.example (at 192.0.2.0/24)";
    expect(said).toEqual({ name: "setup_hosts", ok: true, detail, remedy: "" });
  });

  it("says that there is no network where the operator gives none", async () => {
    const said = await check({}, { network: "none" });

    expect(said).toMatchObject({ ok: true, detail: expect.stringMatching(/^none: /) });
  });

  it("fails where a network is given and no registry can be used, and says why", async () => {
    const said = await check({ npm_config_registry: "http://packages.example/", PIP_CONFIG_FILE: "/dev/null" });

    expect(said).toMatchObject({ ok: false, remedy: expect.stringContaining("`setup.hosts`") });
    expect(said.detail).toMatch(/^no host; .*npm's registry is not reached by https/);
  });
});
