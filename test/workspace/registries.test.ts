import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readRegistries } from "../../src/workspace/index.ts";
import { aCertificate } from "../support/certificate.ts";
import { aHome, never, type TestHome } from "../support/checkout.ts";

let home: TestHome;
let user: string;

beforeEach(() => {
  home = aHome();
  user = join(home.folder, "user");
  mkdirSync(user);
});

afterEach(() => home.dispose());

/** What npm's own user configuration says, and what a pip of this machine answers. */
async function read(npmrc: string, pip: string | null = null, more: Readonly<Record<string, string>> = {}) {
  writeFileSync(join(user, ".npmrc"), npmrc);
  const programs = join(home.folder, "programs");
  mkdirSync(programs);
  if (pip !== null) writeFileSync(join(programs, "pip3"), `#!/bin/sh\ncat <<'END'\n${pip}\nEND\n`, { mode: 0o755 });
  const searchPath = `${programs}:/usr/bin:/bin`.replace(pip === null ? ":/usr/bin:/bin" : "", "");
  return await readRegistries({ ...home.deps, searchPath }, { HOME: user, ...more }, never);
}

describe("the hosts of a setup (SEC-68, SEC-69)", () => {
  it("are those that npm's own configuration names, without what it takes to be let in", async () => {
    const password = randomBytes(12).toString("hex");
    const npmrc = `registry=https://Packages.Example/npm/team/?a=${password}\n//packages.example/npm/team/:_authToken=${password}\n`;

    const found = await read(npmrc);

    expect(found).toEqual({
      hosts: ["packages.example"],
      environment: { npm_config_registry: "https://packages.example/npm/team/" },
      certificates: "",
      unusable: [],
    });
    expect(JSON.stringify(found)).not.toContain(password);
  });

  it("are none where npm's address holds a password, which npm itself never tells", async () => {
    const password = randomBytes(12).toString("hex");

    const found = await read(`registry=https://ann:${password}@packages.example/\n`);

    expect(found).toMatchObject({
      hosts: [],
      environment: {},
      unusable: [expect.stringMatching(/^npm does not tell/)],
    });
    expect(JSON.stringify(found)).not.toContain(password);
  });

  it("come from no project in a folder above the service's", async () => {
    writeFileSync(join(home.folder, "package.json"), "{}");
    writeFileSync(join(home.folder, ".npmrc"), "registry=https://project.example/\n");

    expect((await read("registry=https://user.example/\n")).hosts).toEqual(["user.example"]);
  });

  it("are pip's too, where it reports an index, a variable before a file", async () => {
    const pip =
      "global.timeout='10'\nglobal.index-url='https://file.example/simple'\n:env:.index-url='https://ann:pass@pip.example/simple/'";

    const found = await read("registry=https://npm.example/\n", pip);

    expect(found.hosts).toEqual(["npm.example", "pip.example"]);
    expect(found.environment).toEqual({
      npm_config_registry: "https://npm.example/",
      PIP_INDEX_URL: "https://pip.example/simple/",
    });
  });

  it("are none of a manager that reports none", async () => {
    const found = await read("registry=https://npm.example/\n", "global.timeout='10'");

    expect(found).toMatchObject({ hosts: ["npm.example"], unusable: [] });
  });

  it.each([
    ["http://plain.example/", "npm's registry is not reached by https on port 443"],
    ["https://port.example:4873/", "npm's registry is not reached by https on port 443"],
    ["https://10.0.0.7/", "npm's registry is not named by a host name"],
    ["https://[::1]/", "npm's registry is not named by a host name"],
  ])("are none where the registry is %s", async (registry, why) => {
    expect(await read(`registry=${registry}\n`)).toEqual({
      hosts: [],
      environment: {},
      certificates: "",
      unusable: [why],
    });
  });

  it("bring the certificates that the machine trusts for them, and no key that lies beside one", async () => {
    const [one, other] = [aCertificate("a.example"), aCertificate("b.example")];
    writeFileSync(join(user, "one.pem"), `${one.key}${one.certificate}`);
    writeFileSync(join(user, "other.pem"), other.certificate);

    const found = await read(`registry=https://a.example/\ncafile=${join(user, "one.pem")}\n`, null, {
      NODE_EXTRA_CA_CERTS: join(user, "other.pem"),
    });

    expect(found.certificates).toBe(other.certificate + one.certificate);
  });

  it("say so where a file of certificates can't be read", async () => {
    const found = await read("registry=https://a.example/\n", null, { NODE_EXTRA_CA_CERTS: join(user, "none.pem") });

    expect(found.unusable).toEqual(["a file of certificates that is configured can't be read"]);
  });
});
