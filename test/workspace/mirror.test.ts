import { createHash } from "node:crypto";
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type BaseSource,
  defaultTreeLimits,
  openBase,
  readBaseFile,
  type TreeLimits,
} from "../../src/workspace/index.ts";
import { aHome, aRepository, git, never, type TestHome, writeFiles } from "../support/checkout.ts";

const asRoot = process.geteuid?.() === 0;
let home: TestHome;

beforeEach(() => {
  home = aHome();
});

afterEach(() => {
  home.dispose();
});

const open = (source: BaseSource, limits: TreeLimits = defaultTreeLimits) => openBase(home.deps, source, limits, never);
const openPath = (path: string, limits?: TreeLimits) => open({ kind: "path", path }, limits);
const place = (name: string): string => join(home.folder, name);

describe("openBase of a path", () => {
  it("finds the commit of HEAD and lists its tree", async () => {
    const path = aRepository(place("r"), {
      "a.txt": "a\n",
      "sub/run.sh": { program: "#!/bin/sh\n" },
      l: { link: "a.txt" },
    });

    const { base, repository, uncommitted } = await openPath(path);

    const id = createHash("sha256").update(realpathSync(path)).digest("hex").slice(0, 16);
    expect(repository).toEqual({ id: `local:${id}`, name: "r" });
    expect(base.commitSha).toBe(git(path, "rev-parse", "HEAD").trim());
    expect(base.treeSha).toBe(git(path, "rev-parse", "HEAD^{tree}").trim());
    expect(Array.from(base.entries, ([name, { mode, sizeBytes }]) => [name, mode, sizeBytes])).toEqual([
      ["a.txt", "100644", 2],
      ["l", "120000", 5],
      ["sub/run.sh", "100755", 10],
    ]);
    expect(uncommitted).toEqual([]);
    expect(Buffer.from((await readBaseFile(home.deps, base, "a.txt", never)) ?? []).toString()).toBe("a\n");
    expect(await readBaseFile(home.deps, base, "none", never)).toBeNull();
  });

  it("keeps the mirror apart: one commit deep, readable by the service alone, without a link to the source", async () => {
    const path = aRepository(place("r"), { a: "1" });
    writeFiles(path, { a: "2" });
    git(path, "commit", "--quiet", "--all", "--message=second");
    git(path, "tag", "v1");

    const { base } = await openPath(path);

    const mirror = (...commands: string[]): string =>
      git(place("."), `--git-dir=${base.mirrorFolder}`, ...commands).trim();
    expect(statSync(join(home.deps.home, "mirrors")).mode & 0o777).toBe(0o700);
    expect(mirror("rev-list", "--count", base.commitSha)).toBe("1");
    expect(mirror("for-each-ref", "--format=%(refname)")).toBe(`refs/countersign/${base.commitSha}`);
    expect(existsSync(join(base.mirrorFolder, "objects", "info", "alternates"))).toBe(false);
    expect(readdirSync(base.mirrorFolder)).not.toContain("countersign-fetch-config");
  });

  it("leaves uncommitted work out and names it", async () => {
    const path = aRepository(place("r"), {
      "changed.txt": "1",
      "deleted.txt": "1",
      "same.txt": "1",
      "staged.txt": "1",
      "mode.sh": "1",
      ".gitignore": "*.log\n",
    });
    writeFiles(path, { "changed.txt": "2", "staged.txt": "2", "new/é.txt": "n", "x.log": "ignored" });
    git(path, "add", "staged.txt");
    rmSync(join(path, "deleted.txt"));
    git(path, "update-index", "--chmod=+x", "mode.sh");

    const { base, uncommitted } = await openPath(path);

    expect(uncommitted).toEqual(["changed.txt", "deleted.txt", "mode.sh", "new/é.txt", "staged.txt"]);
    expect(Buffer.from((await readBaseFile(home.deps, base, "changed.txt", never)) ?? []).toString()).toBe("1");
  });

  it("neither writes to the source nor runs what it configures", async () => {
    const path = aRepository(place("r"), { a: "1", ".gitattributes": "* filter=evil\n" });
    const marker = place("marker");
    for (const name of [
      "core.fsmonitor",
      "filter.evil.clean",
      "filter.evil.smudge",
      "filter.evil.process",
      "core.sshCommand",
      "uploadpack.packObjectsHook",
      "diff.external",
      "core.hooksPath",
    ]) {
      git(path, "config", name, name === "core.hooksPath" ? path : `touch ${marker}; cat`);
    }
    writeFiles(path, { "post-checkout": { program: `#!/bin/sh\ntouch ${marker}\n` }, a: "2" });
    const before = listing(join(path, ".git"));

    await openPath(path);

    expect(existsSync(marker)).toBe(false);
    expect(listing(join(path, ".git"))).toEqual(before);
  });

  it("fetches a new commit into the same mirror, and none twice", async () => {
    const path = aRepository(place("r"), { a: "1" });
    const first = await openPath(path);
    const again = await openPath(path);
    writeFiles(path, { a: "2" });
    git(path, "commit", "--quiet", "--all", "--message=second");

    const second = await openPath(path);

    expect(again.base).toEqual(first.base);
    expect(second.base.mirrorFolder).toBe(first.base.mirrorFolder);
    expect(second.base.commitSha).not.toBe(first.base.commitSha);
    expect(Buffer.from((await readBaseFile(home.deps, second.base, "a", never)) ?? []).toString()).toBe("2");
  });

  it("lets two runs open one repository at once", async () => {
    const path = aRepository(place("r"), { a: "1" });

    const opened = await Promise.all([openPath(path), openPath(path), openPath(path)]);

    expect(new Set(opened.map(({ base }) => base.treeSha)).size).toBe(1);
    expect(readdirSync(join(home.deps.home, "locks"))).toEqual([]);
  });

  it("goes on where a killed fetch left its locks", async () => {
    const path = aRepository(place("r"), { a: "1" });
    const { base } = await openPath(path);
    writeFiles(path, { a: "2" });
    git(path, "commit", "--quiet", "--all", "--message=second");
    writeFileSync(join(base.mirrorFolder, "shallow.lock"), "");
    writeFileSync(join(home.deps.home, "locks", `mirror-${base.repositoryId.replace(":", "-")}.999999999.1.00`), "");

    const second = await openPath(path);

    expect(second.base.commitSha).not.toBe(base.commitSha);
  });

  it("reads a detached HEAD, a linked work tree, a shallow clone and a path with odd letters", async () => {
    const path = aRepository(place('odd %41 "é" r'), { a: "1" });
    git(path, "worktree", "add", "--quiet", "--detach", place("linked"));
    git(place("."), "clone", "--quiet", "--depth=1", `file://${encodeURI(path)}`, place("shallow"));

    for (const folder of [path, place("linked"), place("shallow")]) {
      expect((await openPath(folder)).base.commitSha).toBe(git(path, "rev-parse", "HEAD").trim());
    }
  });

  it("reads a repository of the SHA-256 object format", async () => {
    mkdirSync(place("r"));
    git(place("r"), "init", "--quiet", "--object-format=sha256");
    writeFiles(place("r"), { a: "1" });
    git(place("r"), "add", "a");
    git(place("r"), "commit", "--quiet", "--message=first");

    const { base } = await openPath(place("r"));

    expect(base.commitSha).toHaveLength(64);
    expect([...base.entries.keys()]).toEqual(["a"]);
  });

  it.runIf(asRoot)("reads a repository of another user, as root", async () => {
    const path = aRepository(place("r"), { a: "1" });
    giveAway(path, 64_321);

    const { base, uncommitted } = await openPath(path);

    expect([...base.entries.keys()]).toEqual(["a"]);
    expect(uncommitted).toEqual([]);
  });

  it("refuses what is no repository with a commit, in one line", async () => {
    mkdirSync(place("plain"));
    mkdirSync(place("empty"));
    git(place("empty"), "init", "--quiet");
    aRepository(place("full"), { "sub/a": "1", file: "f" });
    git(place("."), "clone", "--quiet", "--bare", place("full"), place("bare"));
    const refusals = {
      none: "does not exist",
      plain: "is no git repository",
      empty: "has no commit yet",
      bare: "is a bare repository",
      "full/sub": "is no git repository",
      "full/file": "is no folder",
    };

    for (const [name, message] of Object.entries(refusals)) {
      const refused = expect(openPath(place(name)), name).rejects;
      await refused.toMatchObject({
        code: "NOT_A_REPOSITORY",
        message: expect.stringMatching(new RegExp(`^\`[^\n]*\` ${message}[^\n]*$`)),
      });
    }
  });

  it("refuses a tree above a limit and gives the numbers", async () => {
    const path = aRepository(place("r"), { "a/b/c": "12345", d: "1" });
    const refusals: [Partial<TreeLimits>, string][] = [
      [{ files: 1 }, "more than 1 files"],
      [{ totalBytes: 5 }, "more than 5 bytes"],
      [{ fileBytes: 4 }, "a file of 5 bytes, allowed are 4"],
      [{ pathBytes: 4 }, "a path of 5 bytes, allowed are 4"],
      [{ depth: 2 }, "a path of 3 levels, allowed are 2"],
    ];

    for (const [limits, message] of refusals) {
      const refused = expect(openPath(path, { ...defaultTreeLimits, ...limits })).rejects;
      await refused.toMatchObject({ code: "TREE_TOO_LARGE", message: expect.stringContaining(message) });
    }
  });
});

describe("openBase of a URL", () => {
  it("takes https, and http for this machine, and never a password", async () => {
    for (const url of [
      "http://example.org/r",
      "ssh://example.org/r",
      "file:///r",
      "ext::sh",
      "--upload-pack=x",
      "https://u:p@example.org/r",
    ]) {
      await expect(open({ kind: "url", url }), url).rejects.toMatchObject({ code: "USAGE" });
    }
  });

  it("says which address did not answer", async () => {
    await expect(open({ kind: "url", url: "http://127.0.0.1:9/r.git" })).rejects.toMatchObject({
      code: "NOT_A_REPOSITORY",
      message: expect.stringContaining("http://127.0.0.1:9/r.git"),
    });
  });
});

describe("git", () => {
  it("is asked for by name where it is missing", async () => {
    const deps = { ...home.deps, searchPath: "/nowhere" };

    await expect(openBase(deps, { kind: "path", path: home.folder }, defaultTreeLimits, never)).rejects.toMatchObject({
      code: "GIT_MISSING",
    });
  });
});

function giveAway(folder: string, uid: number): void {
  chownSync(folder, uid, uid);
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }))
    chownSync(join(folder, name), uid, uid);
}

const listing = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .sort()
    .map((name) => {
      const facts = statSync(join(folder, name));
      return `${name} ${facts.mtimeMs} ${facts.isFile() ? readFileSync(join(folder, name)).toString("base64") : ""}`;
    });
