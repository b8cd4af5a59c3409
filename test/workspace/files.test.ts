import { mkdirSync, readdirSync, readFileSync, realpathSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Workspace } from "../../src/workspace/index.ts";
import { aBase, aHome, aWorkspace, shell, type TestHome } from "../support/checkout.ts";

let home: TestHome;
let workspace: Workspace;

const files = {
  "a.txt": "a\n",
  "dir/b.txt": "b\n",
  "dir/run.sh": { program: "#!/bin/sh\n" },
  "to-file": { link: "dir/../a.txt" },
  "to-dir": { link: "./dir" },
  chain: { link: "to-dir/b.txt" },
  "up-and-back": { link: "../tree/a.txt" },
  absolute: { link: "/etc/passwd" },
  escape: { link: "../../../../etc" },
  dangling: { link: "nowhere/x" },
  loop: { link: "loop" },
};

beforeAll(async () => {
  home = aHome();
  const base = await aBase(home, files);
  workspace = await aWorkspace(home, base);
});

afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
  home.dispose();
});

const sha256 = async (path: string): Promise<string> => {
  const read = await workspace.readFile(path, 1000);
  return read.kind === "file" ? read.sha256 : "";
};

const text = async (path: string): Promise<string> => {
  const read = await workspace.readFile(path, 1000);
  return read.kind === "file" ? Buffer.from(read.bytes).toString() : read.kind;
};

describe("resolve", () => {
  it("follows links that stay inside and says where they lead", async () => {
    const resolved = async (path: string) => {
      const found = await workspace.resolve(path);
      return found.kind === "inside" ? [found.resolved, found.class, found.symlink] : found.cause;
    };

    expect(await resolved("a.txt")).toEqual(["a.txt", "file", false]);
    expect(await resolved("./dir//b.txt")).toEqual(["dir/b.txt", "file", false]);
    expect(await resolved("dir/../a.txt")).toEqual(["a.txt", "file", false]);
    expect(await resolved("")).toEqual([".", "folder", false]);
    expect(await resolved("to-file")).toEqual(["a.txt", "file", true]);
    expect(await resolved("to-dir/run.sh")).toEqual(["dir/run.sh", "file", true]);
    expect(await resolved("to-dir/../a.txt")).toEqual(["a.txt", "file", true]);
    expect(await resolved("chain")).toEqual(["dir/b.txt", "file", true]);
    expect(await resolved("dangling")).toEqual(["nowhere/x", "absent", true]);
    expect(await resolved("new/deep/file")).toEqual(["new/deep/file", "absent", false]);
    expect(await resolved("a.txt/below")).toEqual(["a.txt/below", "absent", false]);
    expect(await resolved("missing/../a.txt")).toEqual(["a.txt", "file", false]);
  });

  it("answers outside, with a cause, for what leaves the tree", async () => {
    const outside = [
      "../x",
      "/etc/passwd",
      "a/../../x",
      "absolute",
      "escape/passwd",
      "up-and-back",
      "loop",
      "a\0b",
      "x".repeat(5000),
      "y".repeat(300),
    ];

    for (const path of outside) {
      expect(await workspace.resolve(path), path.slice(0, 20)).toMatchObject({
        kind: "outside",
        cause: expect.stringMatching(/./),
      });
    }
  });

  it("keeps every path inside, whatever its text and whatever links are there", async () => {
    const component = fc.oneof(
      fc.constantFrom(
        "..",
        ".",
        "",
        "a.txt",
        "dir",
        ...Object.keys(files),
        "new",
        "\u{DCFF}",
        "~",
        "proc",
        "etc",
        "C:\\",
        "..\\..",
      ),
      fc.string({ maxLength: 6, unit: "binary" }),
    );
    const root = realpathSync(workspace.folder);

    await fc.assert(
      fc.asyncProperty(fc.array(component, { maxLength: 8 }), async (components) => {
        const found = await workspace.resolve(components.join("/"));

        if (found.kind === "outside") return;
        expect(found.resolved.split("/").filter((part) => part === "..")).toEqual([]);
        if (found.class === "absent") return;
        const real = realpathSync(join(root, found.resolved));
        expect(real === root || real.startsWith(`${root}/`)).toBe(true);
        expect(real).toBe(found.resolved === "." ? root : `${root}/${found.resolved}`);
      }),
      { numRuns: 400 },
    );
  });
});

describe("readFile", () => {
  it("reads up to its limit and follows no link by itself", async () => {
    expect(await text("a.txt")).toBe("a\n");
    expect(await workspace.readFile("a.txt", 1)).toEqual({ kind: "too_large", sizeBytes: 2 });
    expect(await workspace.readFile("dir", 10)).toEqual({ kind: "not_a_file", class: "folder" });
    expect(await workspace.readFile("to-file", 10)).toEqual({ kind: "not_a_file", class: "other" });
    expect(await workspace.readFile("to-dir/b.txt", 10)).toEqual({ kind: "absent" });
    expect(await workspace.readFile("none", 10)).toEqual({ kind: "absent" });
  });

  it("does not hang on a FIFO", async () => {
    await shell(workspace, "mkfifo fifo");

    expect(await workspace.readFile("fifo", 10)).toEqual({ kind: "not_a_file", class: "other" });
    await shell(workspace, "rm fifo");
  });
});

describe("the writes of the host", () => {
  beforeEach(() =>
    shell(workspace, "rm -rf new*; printf 'a\\n' > a.txt; printf 'b\\n' > dir/b.txt").then(() =>
      workspace.takeChanges(),
    ),
  );

  it("replace a file in one rename; mode and owner stay, and the command's user can go on writing", async () => {
    const before = statSync(join(workspace.folder, "dir/run.sh"));

    const done = await workspace.replaceFile("dir/run.sh", Buffer.from("#!/bin/bash\n"), await sha256("dir/run.sh"));

    const after = statSync(join(workspace.folder, "dir/run.sh"));
    expect(done).toMatchObject({ kind: "written", change: { path: "dir/run.sh", after: { mode: "100755" } } });
    expect([after.mode, after.uid, after.gid]).toEqual([before.mode, before.uid, before.gid]);
    expect(after.ino).not.toBe(before.ino);
    expect((await shell(workspace, "echo x >> dir/run.sh; ls -A dir")).text).toBe("b.txt\nrun.sh\n");
  });

  it("don't replace what has changed meanwhile, is missing, has two names or is no file", async () => {
    await shell(workspace, "ln a.txt new-name");

    expect(await workspace.replaceFile("dir/b.txt", Buffer.from("x"), "0".repeat(64))).toEqual({
      kind: "changed",
      sha256: await sha256("dir/b.txt"),
    });
    expect(await workspace.replaceFile("none", Buffer.from("x"), "0")).toEqual({ kind: "absent" });
    expect(await workspace.replaceFile("a.txt", Buffer.from("x"), await sha256("a.txt"))).toMatchObject({
      kind: "refused",
      cause: expect.stringContaining("2 hard links"),
    });
    expect(await workspace.replaceFile("to-file", Buffer.from("x"), "0")).toMatchObject({ kind: "refused" });
    expect(await text("a.txt")).toBe("a\n");
  });

  it("create a file with its parents, for the command's user, and never over another", async () => {
    const made = await workspace.createFile("new/deep/file.txt", Buffer.from("n\r\n"));

    expect(made).toMatchObject({
      kind: "written",
      change: { path: "new/deep/file.txt", before: null, after: { mode: "100644" } },
    });
    expect((await shell(workspace, "stat -c '%a %u' new new/deep new/deep/file.txt; ls -A new/deep")).text).toBe(
      "755 1000\n755 1000\n644 1000\nfile.txt\n",
    );
    expect(await workspace.createFile("new/deep/file.txt", Buffer.from("x"))).toEqual({ kind: "exists", sizeBytes: 3 });
    expect(await workspace.createFile("to-file", Buffer.from("x"))).toMatchObject({ kind: "exists" });
    expect(await text("new/deep/file.txt")).toBe("n\r\n");
  });

  it("create nothing through a link, below a file or under a name that no commit may hold", async () => {
    for (const path of ["to-dir/new", "a.txt/new", "absolute/x", ".git/config", "dir/.GIT/x", "x\ny", "a/../b"]) {
      expect(await workspace.createFile(path, Buffer.from("x")), path).toMatchObject({ kind: "refused" });
    }
    expect(readdirSync(join(workspace.folder, "dir"))).toEqual(["b.txt", "run.sh"]);
  });

  it("delete one file or link that is still the one expected", async () => {
    await workspace.createFile("new.txt", Buffer.from("n"));
    const linkText = "1a6bc4d19a4e3ef3bb5cd5f2c1e7e3f1";

    expect(await workspace.deleteFile("new.txt", "0")).toMatchObject({ kind: "changed" });
    expect(await workspace.deleteFile("dir", "0")).toMatchObject({ kind: "refused" });
    expect(await workspace.deleteFile("none", "0")).toEqual({ kind: "absent" });
    expect(await workspace.deleteFile("to-dir", linkText)).toMatchObject({ kind: "changed" });
    expect(await workspace.deleteFile("new.txt", await sha256("new.txt"))).toMatchObject({
      kind: "written",
      change: { path: "new.txt", after: null },
    });
    expect(await text("new.txt")).toBe("absent");
  });

  it("leave no temporary file behind when they fail", async () => {
    const fails = workspace.replaceFile(
      "a.txt",
      new Proxy(Buffer.from("x"), {}) as unknown as Uint8Array,
      await sha256("a.txt"),
    );

    await expect(fails).rejects.toThrow();
    expect(readdirSync(workspace.folder).filter((name) => name.startsWith(".countersign"))).toEqual([]);
    expect(readFileSync(join(workspace.folder, "a.txt"), "utf8")).toBe("a\n");
  });
});

describe("closeNames", () => {
  it("offers the same name elsewhere and like names beside it, best first", async () => {
    expect(await workspace.closeNames("b.txt", 3)).toEqual(["dir/b.txt", "a.txt"]);
    expect(await workspace.closeNames("dir/rum.sh", 3)).toEqual(["dir/run.sh"]);
    expect(await workspace.closeNames("quite/different.json", 3)).toEqual([]);
  });
});

describe("a folder that a command swaps for a link", () => {
  it("leads no write outside", async () => {
    const outside = join(home.folder, "outside");
    mkdirSync(outside, { mode: 0o777 });
    writeFileSync(join(outside, "b.txt"), "host\n");
    await shell(workspace, "mv dir kept");
    symlinkSync(outside, join(workspace.folder, "dir"));

    const answers = [
      await workspace.createFile("dir/new.txt", Buffer.from("x")),
      await workspace.replaceFile("dir/b.txt", Buffer.from("x"), "0"),
      await workspace.deleteFile("dir/b.txt", "0"),
      await workspace.resolve("dir/b.txt"),
      await workspace.readFile("dir/b.txt", 10),
    ];

    expect(answers.map(({ kind }) => kind)).toEqual(["refused", "absent", "absent", "outside", "absent"]);
    expect(readdirSync(outside)).toEqual(["b.txt"]);
    expect(readFileSync(join(outside, "b.txt"), "utf8")).toBe("host\n");
  });
});
