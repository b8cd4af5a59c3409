import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Secret } from "../../src/domain/index.ts";
import { startGit } from "../../src/workspace/git.ts";
import { endOfGit } from "../../src/workspace/git-process.ts";
import { defaultSearchPath, defaultTreeLimits, openBase, type WorkspaceDeps } from "../../src/workspace/index.ts";
import { aHome, aRepository, aWorkspace, never, type TestHome } from "../support/checkout.ts";

let home: TestHome;
let deps: WorkspaceDeps;

/** A git that writes down how it was called before it does its work. */
beforeEach(() => {
  home = aHome();
  const programs = join(home.folder, "programs");
  mkdirSync(join(home.folder, "calls"));
  mkdirSync(programs);
  const real =
    defaultSearchPath
      .split(":")
      .map((folder) => join(folder, "git"))
      .find((path) => statSync(path, { throwIfNoEntry: false })) ?? "";
  writeFileSync(
    join(programs, "git"),
    `#!/bin/bash
call=$(mktemp ${home.folder}/calls/XXXXXXXX)
{ printf '%s\\0' "$PWD" "$#" "$@"; ls -A | wc -l | tr '\\n' '\\0'; cat /proc/self/environ; } > "$call"
exec ${real} "$@"
`,
  );
  chmodSync(join(programs, "git"), 0o755);
  deps = { ...home.deps, searchPath: `${programs}:${defaultSearchPath}` };
});
afterEach(() => home.dispose());

type Call = {
  readonly folder: string;
  readonly argv: readonly string[];
  readonly isEmpty: boolean;
  readonly environment: Readonly<Record<string, string>>;
};

function calls(): readonly Call[] {
  return readdirSync(join(home.folder, "calls")).map((name) => {
    const parts = readFileSync(join(home.folder, "calls", name), "utf8").split("\0");
    const count = Number(parts[1]);
    const variables = parts.slice(3 + count).filter((part) => part.includes("="));
    const pairs = variables.map(
      (text) => [text.slice(0, text.indexOf("=")), text.slice(text.indexOf("=") + 1)] as const,
    );
    return {
      folder: parts[0] ?? "",
      argv: parts.slice(2, 2 + count),
      isEmpty: parts[2 + count] === "0",
      environment: Object.fromEntries(pairs),
    };
  });
}

const settingsOf = ({ argv }: Call): readonly string[] => argv.filter((_, at) => argv[at - 1] === "-c");

describe("each call of git by the host (SEC-75)", () => {
  it("starts from an empty folder of ours, with an environment and settings of ours alone", async () => {
    const path = aRepository(join(home.folder, "r"), { a: "1" });
    const { base } = await openBase(deps, { kind: "path", path }, defaultTreeLimits, never);
    await using workspace = await aWorkspace({ ...home, deps }, base, { checkout: "copy" });
    expect(workspace.base).toBe(base);

    expect(calls().length).toBeGreaterThan(5);
    for (const call of calls()) {
      const name = call.argv.join(" ");
      expect(call.folder, name).toBe(join(home.deps.home, "mirrors", "empty"));
      expect(call.isEmpty, name).toBe(true);
      expect(call.environment, name).toMatchObject({
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_TERMINAL_PROMPT: "0",
        GIT_ASKPASS: "/bin/false",
        GIT_LFS_SKIP_SMUDGE: "1",
      });
      const ours = /^(PATH|LC_ALL|PWD|OLDPWD|SHLVL|_|GIT_[A-Z_]+)$/; // some are bash's own
      expect(
        Object.keys(call.environment).filter((variable) => !ours.test(variable)),
        name,
      ).toEqual([]);
      expect(settingsOf(call), name).toEqual(
        expect.arrayContaining([
          "core.hooksPath=/dev/null",
          "core.fsmonitor=false",
          "safe.bareRepository=explicit",
          "fetch.fsckObjects=true",
          "transfer.credentialsInUrl=die",
          "http.followRedirects=false",
          "protocol.allow=never",
        ]),
      );
    }
    const globals = new Set(calls().map(({ environment }) => environment["GIT_CONFIG_GLOBAL"]));
    expect([...globals].sort()).toEqual(["/dev/null", join(base.mirrorFolder, "countersign-fetch-config")]);
  });

  it("lists a commit once by the same limits, however often it is opened", async () => {
    const path = aRepository(join(home.folder, "r"), { a: "1" });
    const open = async (limits = defaultTreeLimits) =>
      (await openBase(deps, { kind: "path", path }, limits, never)).base;
    const listings = (): number => calls().filter(({ argv }) => argv.includes("ls-tree")).length;

    const first = await open();
    expect(await open()).toBe(first);
    expect(listings()).toBe(1);
    await expect(open({ ...defaultTreeLimits, files: 0 })).rejects.toMatchObject({ code: "TREE_TOO_LARGE" });
    expect(listings()).toBe(2);
  });

  it("fetches one commit and nothing beside it, by the one protocol that it needs (SEC-78, SEC-79)", async () => {
    const path = aRepository(join(home.folder, "r"), { a: "1" });

    const { base } = await openBase(deps, { kind: "path", path }, defaultTreeLimits, never);

    const fetches = calls().filter((call) => call.argv.includes("fetch"));
    expect(fetches).toHaveLength(1);
    const argv = fetches[0]?.argv ?? [];
    expect(argv.slice(argv.indexOf("fetch"))).toEqual([
      "fetch",
      "--depth=1",
      "--no-tags",
      "--no-recurse-submodules",
      "--no-write-fetch-head",
      "--quiet",
      "--end-of-options",
      `file://${path}`,
      `+${base.commitSha}:refs/countersign/${base.commitSha}`,
    ]);
    const allowed = calls().map((call) => settingsOf(call).filter((one) => /^protocol\..*=(?!never)/.test(one)));
    expect(allowed.flat()).toEqual(["protocol.file.allow=always"]);
    const safe = calls().flatMap((call) => settingsOf(call).filter((one) => one.startsWith("safe.directory")));
    expect(new Set(safe)).toEqual(new Set([`safe.directory=${path}`]));
  });

  it("has data behind --end-of-options alone, and none that begins with a dash (SEC-78)", async () => {
    const path = aRepository(join(home.folder, "--upload-pack=x"), { "--output=y": "1" });
    const { base } = await openBase(deps, { kind: "path", path }, defaultTreeLimits, never);

    for (const { argv } of calls()) {
      const ours = argv.includes("--end-of-options") ? argv.slice(0, argv.indexOf("--end-of-options")) : argv;
      const data = argv.slice(ours.length + 1);
      expect(
        data.filter((text) => text.startsWith("-")),
        argv.join(" "),
      ).toEqual([]);
      expect(
        ours.filter((text) => text.includes(base.commitSha) && !text.startsWith("/")),
        argv.join(" "),
      ).toEqual([]);
    }
  });

  it("never runs on a tree that a sandbox could write (SEC-76)", async () => {
    const path = aRepository(join(home.folder, "r"), { a: "1" });
    const { base } = await openBase(deps, { kind: "path", path }, defaultTreeLimits, never);
    await using workspace = await aWorkspace({ ...home, deps }, base);
    await workspace.readBack();
    await workspace.takeChanges();

    const workFolders = join(deps.home, "work");
    for (const { argv, environment } of calls()) {
      expect(
        [...argv, ...Object.values(environment)].filter((text) => text.includes(workFolders)),
        argv.join(" "),
      ).toEqual([]);
    }
  });
});

describe("the token of an installation (SEC-77)", () => {
  it("stands in the environment of the one fetch, for its host, and nowhere else", async () => {
    const token = ["ghs", "x".repeat(36)].join("_");
    const authorization = `Authorization: basic ${Buffer.from(`x-access-token:${token}`).toString("base64")}`;
    const source = {
      kind: "github",
      url: "http://127.0.0.1:9/acme/hours.git",
      authorization: new Secret(authorization),
      commitSha: "a".repeat(40),
      repository: { id: "12", name: "acme/hours" },
    } as const;

    const failure = await openBase(deps, source, defaultTreeLimits, never).catch((error: Error) => error);

    expect(failure).toMatchObject({ code: "GIT_FAILED" });
    expect(JSON.stringify(failure) + String(failure)).not.toContain(authorization.slice(21));
    const holders = calls().filter(({ argv, environment }) =>
      JSON.stringify([argv, environment]).includes(authorization),
    );
    expect(holders.map(({ argv }) => argv.includes("fetch"))).toEqual([true]);
    expect(holders[0]?.argv.join(" ")).not.toContain(authorization);
    expect(holders[0]?.environment["GIT_CONFIG_KEY_0"]).toBe("http.http://127.0.0.1:9/.extraHeader");
    const paths = readdirSync(home.deps.home, { recursive: true, encoding: "utf8" }).map((name) =>
      join(home.deps.home, name),
    );
    const texts = paths.filter((path) => statSync(path).isFile()).map((path) => readFileSync(path, "utf8"));
    expect(texts.length).toBeGreaterThan(0);
    expect(texts.filter((text) => text.includes(token) || text.includes(authorization.slice(21)))).toEqual([]);
  });
});

describe("the end of a git that is stopped", () => {
  it("can be asked for later than it comes, and is then the reason of the stop", async () => {
    const stop = new AbortController();
    const reason = new Error("enough");
    const child = await startGit(deps, { arguments: ["cat-file", "--batch"], gitFolder: null }, stop.signal);
    const end = endOfGit(child, stop.signal);

    stop.abort(reason);
    await once(child, "close"); // vitest fails on a rejection that nobody has handled by now
    await new Promise(setImmediate);

    await expect(end).rejects.toBe(reason);
  });
});
