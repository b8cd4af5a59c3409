import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, lstatSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type BaseTree,
  defaultSearchPath,
  defaultTreeLimits,
  renderPatch,
  type TreeReading,
  type Workspace,
} from "../../src/workspace/index.ts";
import { aBase, aHome, aWorkspace, checkoutKinds, never, shell, type TestHome } from "../support/checkout.ts";

let home: TestHome;
let base: BaseTree;
let hostFolder: string;

beforeAll(async () => {
  home = aHome();
  base = await aBase(home, { "a.txt": "a\n", "dir/b.txt": "b\n", "dir/deep/c.txt": "c\n" });
});
afterAll(() => home.dispose());
beforeEach(() => {
  hostFolder = join(home.folder, "host");
  rmSync(hostFolder, { recursive: true, force: true });
  mkdirSync(hostFolder);
  chmodSync(hostFolder, 0o777);
});

/** A copy in memory is read as one on disk is. */
const kinds = checkoutKinds.filter((kind) => kind !== "tmpfs");

const pathsOf = (reading: TreeReading): readonly string[] =>
  reading.kind === "read" ? reading.changeSet.changes.map(({ path }) => path) : reading.causes;

describe.each(kinds)("a hostile tree in a checkout of the kind `%s`", (checkout) => {
  const open = (): Promise<Workspace> => aWorkspace(home, base, { checkout });

  it("AT-28, SEC-76: has a .git that the host neither obeys nor publishes", async () => {
    await using workspace = await open();
    const marker = join(hostFolder, "marker");
    const touch = `touch ${marker}`;
    const configuration = `[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "${touch}; false"\n\tsshCommand = ${touch}\n\thooksPath = /workspace/hooks\n[filter "f"]\n\tclean = ${touch}; cat\n\tsmudge = ${touch}; cat\n\tprocess = ${touch}\n[diff]\n\texternal = ${touch}\n`;
    await shell(
      workspace,
      `mkdir -p .git/objects .git/refs; echo ref: refs/heads/main > .git/HEAD; echo '* filter=f' > .gitattributes; echo 1 > a.txt; cat > .git/config <<'END'\n${configuration}END`,
    );

    const taken = await workspace.takeChanges();
    const readings = [taken, await workspace.readBack()];
    const patch = taken.kind === "read" ? await renderPatch(home.deps, base, taken.changeSet, never) : "";

    expect(readings.map(pathsOf)).toEqual([
      [".gitattributes", "a.txt"],
      [".gitattributes", "a.txt"],
    ]);
    expect(patch).not.toContain("[core]");
    expect(existsSync(marker)).toBe(false);
    // the control: a git that runs on this tree does what its configuration says
    const { uid, gid } = lstatSync(workspace.folder);
    const asRunUid = process.geteuid?.() === 0 ? { uid, gid } : {};
    const environment = { PATH: defaultSearchPath, GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" };
    const folder = ["--git-dir=.git", "--work-tree=."];
    const inTree = process.geteuid?.() === 0 ? ["-c", `safe.directory=${workspace.folder}`] : [];
    try {
      execFileSync("git", [...inTree, ...folder, "add", "a.txt"], {
        cwd: workspace.folder,
        env: environment,
        stdio: "ignore",
        ...asRunUid,
      });
    } catch {
      // the marker alone counts
    }
    expect(existsSync(marker)).toBe(true);
  });

  it("AT-29: reaches no file of the host through a link, not even as the parent of a path", async () => {
    writeFileSync(join(hostFolder, "canary"), "canary\n");
    const attacks = [
      "ln -s /etc/passwd new",
      `mv dir /tmp/d; ln -s ${hostFolder} dir`,
      `rm -r dir/deep; ln -s ${hostFolder} dir/deep`,
      `rm a.txt; ln -s ${hostFolder}/canary a.txt`,
    ];
    for (const attack of attacks) {
      await using workspace = await open();
      expect((await shell(workspace, attack)).exitCode).toBe(0);

      const readings = [await workspace.takeChanges(), await workspace.readBack()];
      const resolved = await Promise.all(
        ["dir/canary", "dir/deep/canary", "a.txt", "new"].map((path) => workspace.resolve(path)),
      );
      const read = await Promise.all(
        ["dir/canary", "dir/deep/canary", "a.txt", "new"].map((path) => workspace.readFile(path, 100)),
      );
      const written = await workspace.createFile("dir/deep/canary", Buffer.from("overwritten"));

      expect(
        readings.map(({ kind }) => kind),
        attack,
      ).toEqual(["refused", "refused"]);
      expect(
        resolved.some(({ kind }) => kind === "outside"),
        attack,
      ).toBe(true);
      expect(
        JSON.stringify([
          readings,
          resolved,
          read.map((file) => (file.kind === "file" ? Buffer.from(file.bytes).toString() : file)),
        ]),
        attack,
      ).not.toMatch(/canary\\n|root:x/);
      expect(written.kind === "refused" || !attack.includes(" dir"), attack).toBe(true);
      expect(execFileSync("cat", [join(hostFolder, "canary")], { encoding: "utf8" })).toBe("canary\n");
    }
  });

  it("AT-17: takes no path that leaves it, and no name of git's own", async () => {
    await using workspace = await open();

    for (const path of ["../x", "/etc/x", "a/../../x", "dir/\0x", `${"a/".repeat(2100)}x`]) {
      expect((await workspace.resolve(path)).kind, path.slice(0, 20)).toBe("outside");
    }
    for (const path of [
      ".git/config",
      ".GIT/hooks/x",
      "sub/.git/config",
      "sub/git~1/x",
      "x/.g\u200cit/config",
      "a\nb",
      "a\\b",
    ]) {
      expect((await workspace.createFile(path, Buffer.from("x"))).kind, path).toBe("refused");
    }
    expect(pathsOf(await workspace.readBack())).toEqual([]);
  });

  it("AT-30: is refused at once with names by the thousand and folders by the thousand", async () => {
    const limits = { ...defaultTreeLimits, files: 500, changedFiles: 400 };
    const crowds: readonly [string, RegExp][] = [
      ["for n in $(seq 3000); do : > n$n; done", /more than (500 files|400 files changed)/],
      ["mkdir d; cd d; mkdir $(seq 3000)", /more than 500 new folders/],
      ["mkdir -p $(printf 'd/%.0s' $(seq 900))", /lies deeper than 64 levels/],
      ["for n in $(seq 40); do mkfifo f$n; done", /"f\d+" is neither file, folder nor link/],
    ];
    for (const [script, cause] of crowds) {
      await using workspace = await aWorkspace(home, base, { checkout, limits });
      await shell(workspace, script);

      for (const reading of [await workspace.takeChanges(), await workspace.readBack()]) {
        expect(reading.kind === "refused" ? reading.causes.join("\n") : "", script).toMatch(cause);
        expect(reading.kind === "refused" && reading.causes.length).toBeLessThanOrEqual(20);
      }
    }
  });
});

describe.each(kinds)("what the setup has made (SEC-89), in a checkout of the kind `%s`", (checkout) => {
  const setUp =
    "mkdir -p vendor/bin lib; echo 1 > vendor/one; echo 2 > vendor/two; ln vendor/one vendor/same; ln -s ../one vendor/bin/one; echo x >> a.txt";

  it("is left out as long as nobody changes it, links and second names too", async () => {
    await using workspace = await aWorkspace(home, base, { checkout });
    await shell(workspace, setUp);

    expect(await workspace.markSetUp()).toEqual({ kind: "marked", made: 4 });

    expect(pathsOf(await workspace.takeChanges())).toEqual([]);
    expect(pathsOf(await workspace.readBack())).toEqual(["a.txt"]);
    await shell(workspace, "echo n > new; rm vendor/bin/one");
    expect(pathsOf(await workspace.takeChanges())).toEqual(["new"]);
    expect(pathsOf(await workspace.readBack())).toEqual(["a.txt", "new"]);
  });

  it("counts as anybody's once it is changed", async () => {
    await using workspace = await aWorkspace(home, base, { checkout });
    await shell(workspace, setUp);
    await workspace.markSetUp();

    await shell(workspace, "echo 3 > vendor/two; touch vendor/one");
    expect(pathsOf(await workspace.takeChanges())).toEqual(["vendor/two"]);
    expect(pathsOf(await workspace.readBack())).toEqual(["a.txt", "vendor/two"]);

    await shell(workspace, "ln -sf /etc/passwd vendor/bin/one");
    expect(pathsOf(await workspace.readBack())).toEqual(['"vendor/bin/one" is a new link']);
  });

  it("may be no device, pipe or repository", async () => {
    await using workspace = await aWorkspace(home, base, { checkout });
    await shell(workspace, "mkfifo pipe; mkdir -p vendor/x/.git");

    const marked = await workspace.markSetUp();

    expect(marked.kind === "refused" && [...marked.causes].sort()).toEqual([
      '"pipe" is neither file, folder nor link',
      '"vendor/x/.git" is a spelling of `.git`',
    ]);
  });
});
