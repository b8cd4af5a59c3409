import { closeSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isWholeBase } from "../../src/workspace/base-check.ts";
import { fillTree } from "../../src/workspace/fill-tree.ts";
import { type BaseTree, defaultTreeLimits, openBase } from "../../src/workspace/index.ts";
import { makeWorkFolder } from "../../src/workspace/make-work-folder.ts";
import { openRoot } from "../../src/workspace/tree-folders.ts";
import { aBase, aHome, aRepository, type Content, git, never, type TestHome } from "../support/checkout.ts";

const owner = process.geteuid?.() === 0 ? { uid: 64_395, gid: 64_395 } : null;
const uid = owner?.uid ?? process.geteuid?.() ?? 0;
let home: TestHome;
let folder: string;
let root: number;

beforeEach(() => {
  home = aHome();
  folder = makeWorkFolder(join(home.folder, "tree"), owner);
  root = openRoot(folder);
});
afterEach(() => {
  closeSync(root);
  home.dispose();
});

const fill = (base: BaseTree, signal = never): Promise<void> =>
  fillTree(home.deps, base, { root, owner, entries: base.entries, threads: 2 }, signal);

const files: Readonly<Record<string, Content>> = {
  ".gitattributes": "* text eol=crlf ident filter=none\n",
  empty: "",
  "lines/unix": "one\ntwo\n$Id$\n",
  "deep/er/still/file": "x",
  "deep/link": { link: "er/still" },
  "deep/run": { program: "#!/bin/sh\n" },
  large: Buffer.alloc(300_000, "l"),
  ...Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`many/part-${at % 4}/${at}`, `${at}`])),
};

describe("a tree written by several threads (SEC-81)", () => {
  it("is exactly the base whatever the umask: bytes as committed, git's modes, links, submodules, each the owner's", async () => {
    const path = aRepository(join(home.folder, "repository"), files);
    git(path, "update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},deep/module`);
    git(path, "commit", "--quiet", "--message=a submodule");
    const { base } = await openBase(home.deps, { kind: "path", path }, defaultTreeLimits, never);

    const usual = process.umask(0o077);
    try {
      await fill(base);
    } finally {
      process.umask(usual);
    }

    expect(base.entries.size).toBe(Object.keys(files).length + 1);
    expect(await isWholeBase({ root, base, uid })).toBe(true);
    expect(statSync(join(folder, "deep/module")).isDirectory()).toBe(true);
    expect(readFileSync(join(folder, "lines/unix"), "utf8")).toBe("one\ntwo\n$Id$\n");
    const modes = ["empty", "deep/run", "deep/er", "many/part-1/1"].map((name) => statSync(join(folder, name)).mode);
    expect(modes.map((mode) => (mode & 0o777).toString(8))).toEqual(["644", "755", "755", "644"]);
  });

  it("is refused where the mirror lacks an object, or where something stands in its place already", async () => {
    const base = await aBase(home, files);
    const lost = { mode: "100644", blobSha: "2".repeat(40), sizeBytes: 1 } as const;

    const told = fill({ ...base, entries: new Map([...base.entries, ["many/lost", lost]] as const) });
    await expect(told).rejects.toMatchObject({
      code: "GIT_FAILED",
      message: expect.stringContaining(`lacks the object \`${lost.blobSha}\``),
    });
    await expect(fill(base)).rejects.toMatchObject({ code: "EEXIST" });
  });

  it("is given up when the signal says so, its threads ended", async () => {
    const base = await aBase(home, files);
    const stop = new AbortController();

    const filling = fill(base, stop.signal);
    stop.abort(new Error("enough"));

    await expect(filling).rejects.toThrow("enough");
  });
});
