import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeRung, prepareTools, probeSandbox } from "../../src/workspace/index.ts";
import { checkedEnvironment, checkedToolchains } from "../../src/workspace/operator-inputs.ts";
import { userNamespaceRemedy } from "../../src/workspace/require-bubblewrap.ts";
import {
  aBase,
  aConfinement,
  aHome,
  aWorkspace,
  checkoutKinds,
  never,
  noTools,
  shell,
  type TestHome,
  testRunUids,
} from "../support/checkout.ts";

const asRoot = process.geteuid?.() === 0;
let home: TestHome;

beforeAll(() => {
  home = aHome();
});

afterAll(() => home.dispose());

describe("prepareTools", () => {
  it("brings node, npm, npx and rg that any user id can run, once, whatever two starts do at once", async () => {
    const [folder, again] = await Promise.all([prepareTools(home.deps), prepareTools(home.deps)]);

    expect(again).toBe(folder);
    expect(readdirSync(join(home.deps.home, "tools"))).toHaveLength(1);
    expect(statSync(join(folder, "bin", "node")).mode & 0o777).toBe(0o755);
    await using workspace = await aWorkspace(home, await aBase(home, { "a.txt": "needle\n" }), { toolsFolder: folder });
    const { text } = await shell(
      workspace,
      "node --version; npm --version; npx --version; rg --no-config -l needle; command -v node",
    );
    expect(text).toMatch(/^v24\.21\.0\n12\.2\.2\n12\.2\.2\na\.txt\n\/opt\/tools\/bin\/node\n$/);
  });
});

describe("probeSandbox", () => {
  const options = () => ({
    runUids: testRunUids,
    toolsFolder: noTools(home),
    toolchains: [],
    environment: {},
    part: "everything" as const,
    confinement: aConfinement(home),
  });

  it("tries each barrier in a real sandbox and finds it to hold (SEC-60)", async () => {
    const checks = await probeSandbox(home.deps, options(), never);

    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
    expect(checks.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        "bubblewrap",
        "limits",
        "tcp",
        "udp",
        "dns",
        "raw_socket",
        "abstract_socket",
        "path_socket",
        "vsock",
        "host_files",
        "host_processes",
        "nested_namespaces",
        "mount",
        "core_pattern",
        "ptrace",
        "key_rings",
        "io_uring",
        "terminal_injection",
        "device_nodes",
        "seccomp",
        "capabilities",
        "no_new_privileges",
        "environment",
        "read_only_places",
        "user_id",
        "time_limit",
      ]),
    );
    expect(readdirSync(join(home.deps.home, "work"))).toEqual([]);
  });

  it("lists the runtimes seen inside, with versions (SEC-44)", async () => {
    const checks = await probeSandbox(home.deps, { ...options(), toolsFolder: await prepareTools(home.deps) }, never);

    const listed = checks.find(({ name }) => name === "runtimes");
    expect(listed?.detail).toMatch(/^node 24\.21\.0, npm 12\.2\.2, rg \d+\.\d+\.\d+, bash \d/);
  });

  it("finds a socket of the host in a folder that the operator binds (SEC-52)", async () => {
    const folder = join(home.folder, "bound");
    mkdirSync(join(folder, "deep"), { recursive: true });
    chmodSync(folder, 0o755);
    const server = createServer().listen(join(folder, "deep", "socket"));
    await once(server, "listening");

    const toolchains = [{ name: "bound", folder, addToPath: false }];
    const checks = await probeSandbox(home.deps, { ...options(), toolchains }, never);
    await new Promise((resolve) => server.close(resolve));

    expect(checks.filter(({ ok }) => !ok)).toMatchObject([{ name: "host_sockets", detail: "/opt/bound/deep/socket" }]);
  });

  it("says that bubblewrap is missing or too old", async () => {
    const folder = join(home.folder, "old");
    mkdirSync(folder);
    writeFileSync(join(folder, "bwrap"), "#!/bin/sh\necho bubblewrap 0.7.2\n");
    chmodSync(join(folder, "bwrap"), 0o755);

    const missing = await probeSandbox({ ...home.deps, searchPath: "/nowhere" }, options(), never);
    const old = await probeSandbox({ ...home.deps, searchPath: folder }, options(), never);

    expect(missing).toMatchObject([
      { name: "bubblewrap", ok: false, remedy: expect.stringContaining("apt-get install bubblewrap") },
    ]);
    expect(old).toMatchObject([{ name: "bubblewrap", ok: false, detail: expect.stringContaining("0.7.2") }]);
  });

  it("shows what holds the sandbox to its limits (SEC-53), and loudly where its user id is the service's own (SEC-42)", async () => {
    const checks = await probeSandbox(home.deps, options(), never);

    const shown = (wanted: string) => checks.find(({ name }) => name === wanted);
    expect(shown("limits")).toMatchObject({ ok: true, detail: describeRung(options().confinement.rung) });
    const [own, ofTheRun] = [
      /^WARNING: the service's own user, \d+: the mounts alone/,
      /^a user id that owns nothing else, 64\d{3} /,
    ];
    expect(shown("runs_as")).toMatchObject({ ok: true, detail: expect.stringMatching(asRoot ? ofTheRun : own) });
  });

  it.each(checkoutKinds)(
    "holds over a checkout of the kind `%s` too, and says what bounds it (SEC-56)",
    async (checkout) => {
      const checks = await probeSandbox(home.deps, { ...options(), checkout, part: "confinement" }, never);

      expect(checks.filter(({ ok }) => !ok)).toEqual([]);
      expect(checks.find(({ name }) => name === "checkout")?.detail).toMatch(
        {
          overlay: /^an overlay .*, at most 2048 MiB and 400000 files$/,
          tmpfs: /^a copy in memory, at most/,
          copy: /^WARNING: a copy on disk/,
        }[checkout],
      );
      expect(readdirSync(join(home.deps.home, "work"))).toEqual([]);
    },
  );

  it.runIf(asRoot)("says what root lacks", async () => {
    const checks = await probeSandbox(home.deps, { ...options(), runUids: null }, never);

    expect(checks.at(-1)).toMatchObject({ ok: false, remedy: expect.stringContaining("COUNTERSIGN_RUN_UIDS") });
  });

  it("names the setting that keeps users from making namespaces", () => {
    const setTo = (path: string, value: string) => userNamespaceRemedy((asked) => (asked === path ? value : null));

    expect(setTo("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1")).toContain(
      "kernel.apparmor_restrict_unprivileged_userns=0",
    );
    expect(setTo("/proc/sys/kernel/unprivileged_userns_clone", "0")).toContain("kernel.unprivileged_userns_clone=1");
    expect(setTo("/proc/sys/user/max_user_namespaces", "0")).toContain("user.max_user_namespaces");
    expect(setTo("/proc/sys/user/max_user_namespaces", "1000")).toBeNull();
  });
});

describe("what the operator adds", () => {
  it("may be a variable, but none that looks like a secret", () => {
    const invalid = expect.objectContaining({ code: "CONFIG_INVALID" });
    const token = `gh${"p"}_${"a".repeat(36)}`;

    expect(checkedEnvironment({ GOFLAGS: "-mod=vendor" })).toEqual({ GOFLAGS: "-mod=vendor" });
    for (const name of ["API_KEY", "my_token", "Author", "DB_PASSWORD", "X=Y", "1A", ""]) {
      expect(() => checkedEnvironment({ [name]: "x" }), name).toThrow(invalid);
    }
    for (const value of [token, "https://ann:secret@example.org/", "a\0b"])
      expect(() => checkedEnvironment({ A: value })).toThrow(invalid);
    expect(() => checkedEnvironment({ A: token })).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining(token) }),
    );
  });

  it("may be a toolchain, but no place of secrets or sockets", () => {
    const check = (folder: string, name = "go") =>
      checkedToolchains([{ name, folder, addToPath: true }], home.deps.home);

    expect(check("/usr/lib")).toMatchObject([{ folder: "/usr/lib" }]);
    for (const folder of [
      "/",
      "/home",
      "/root",
      "/run",
      "/var",
      "/var/lib",
      "/sys",
      "/etc",
      "usr/lib",
      "/none",
      home.deps.home,
      home.folder,
    ]) {
      expect(() => check(folder), folder).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
    }
    expect(() => check("/usr/lib", "tools")).toThrow();
    expect(() => check("/usr/lib", "../x")).toThrow();
  });
});
