import { lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { blobShaOf } from "../../src/workspace/base-tree.ts";
import {
  type BaseTree,
  defaultTreeLimits,
  openBase,
  type Workspace,
  type WorkspaceOptions,
} from "../../src/workspace/index.ts";
import {
  aBase,
  aHome,
  aRepository,
  aWorkspace,
  checkoutKinds,
  git,
  never,
  shell,
  type TestHome,
} from "../support/checkout.ts";

const asRoot = process.geteuid?.() === 0;
const files = {
  "a.txt": "a\n",
  "dir/b.txt": "b\n",
  "dir/deep/c.txt": "c\n",
  "run.sh": { program: "#!/bin/sh\n" },
  "link-in": { link: "a.txt" },
  "tracked/node_modules/kept.js": "kept\n",
};
let home: TestHome;
let base: BaseTree;

beforeAll(async () => {
  home = aHome();
  base = await aBase(home, files);
});

afterAll(() => home.dispose());

/** A copy in memory is read as one on disk is. */
const kinds = checkoutKinds.filter((kind) => kind !== "tmpfs");

describe.each(kinds)("in a checkout that is of the kind `%s`", (checkout) => {
  async function withWorkspace(
    work: (workspace: Workspace) => Promise<void>,
    options: Partial<WorkspaceOptions> = {},
    of: BaseTree = base,
  ): Promise<void> {
    await using workspace = await aWorkspace(home, of, { checkout, ...options });
    await work(workspace);
  }

  const read = async (workspace: Workspace) => {
    const reading = await workspace.readBack();
    if (reading.kind === "refused") throw new Error(reading.causes.join("; "));
    return reading.changeSet.changes.map(({ path, before, after }) => ({
      path,
      before: before?.mode ?? null,
      after: after === null ? null : `${after.mode} ${Buffer.from(after.content).toString("utf8")}`,
    }));
  };

  describe("readBack (SEC-85 to SEC-90)", () => {
    it("answers no change for a fresh checkout", async () => {
      await withWorkspace(async (workspace) => {
        expect(await read(workspace)).toEqual([]);
        expect(await workspace.takeChanges()).toMatchObject({ kind: "read", changeSet: { changes: [] } });
      });
    });

    it("answers changed, new, deleted files and changed modes, sorted, with git's blob ids", async () => {
      await withWorkspace(async (workspace) => {
        await shell(
          workspace,
          "printf A > a.txt; rm -r dir/deep; echo n > dir/é.txt; chmod -x run.sh; rm link-in; printf '\\0\\xff' > bin",
        );

        expect(await read(workspace)).toEqual([
          { path: "a.txt", before: "100644", after: "100644 A" },
          { path: "bin", before: null, after: "100644 \0\u{FFFD}" },
          { path: "dir/deep/c.txt", before: "100644", after: null },
          { path: "dir/é.txt", before: null, after: "100644 n\n" },
          { path: "link-in", before: "120000", after: null },
          { path: "run.sh", before: "100755", after: "100644 #!/bin/sh\n" },
        ]);
        const reading = await workspace.readBack();
        const change = reading.kind === "read" ? reading.changeSet.changes[0] : undefined;
        expect(change?.after?.blobSha).toBe("8c7e5a667f1b771847fe88c01c3de34413a1b220");
      });
    });

    it("doesn't enter folders of dependencies, caches and build output below which the base tracks nothing", async () => {
      await withWorkspace(
        async (workspace) => {
          await shell(
            workspace,
            "mkdir -p .git/hooks node_modules/.git dir/__pycache__ .venv out; for d in .git node_modules dir/__pycache__ .venv out; do mkfifo $d/f; done; echo x > tracked/node_modules/new.js",
          );

          expect((await read(workspace)).map(({ path }) => path)).toEqual(["tracked/node_modules/new.js"]);
        },
        { buildOutput: ["out/"] },
      );
    });

    it("lets a file become a folder and a folder a file", async () => {
      await withWorkspace(async (workspace) => {
        await shell(workspace, "rm a.txt; mkdir a.txt; echo x > a.txt/x; rm -r dir; echo f > dir");

        expect((await read(workspace)).map(({ path, after }) => [path, after])).toEqual([
          ["a.txt", null],
          ["a.txt/x", "100644 x\n"],
          ["dir", "100644 f\n"],
          ["dir/b.txt", null],
          ["dir/deep/c.txt", null],
        ]);
      });
    });

    it("is not fooled by a change that keeps size and modification time", async () => {
      await withWorkspace(async (workspace) => {
        await shell(workspace, "touch -r a.txt /tmp/t; printf 'z\\n' > a.txt; touch -r /tmp/t a.txt");

        const taken = await workspace.takeChanges();

        expect(taken.kind === "read" && taken.changeSet.changes.map(({ path }) => path)).toEqual(["a.txt"]);
      });
    });

    it.runIf(asRoot)("refuses a file of another owner", async () => {
      await withWorkspace(async (workspace) => {
        writeFileSync(join(workspace.folder, "foreign"), "x");

        expect(await workspace.readBack()).toEqual({ kind: "refused", causes: ['"foreign" belongs to user id 0'] });
      });
    });

    it("keeps submodules as they are and refuses a change to them", async () => {
      const path = aRepository(join(home.folder, `super-${checkout}`), { a: "1" });
      git(path, "update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},vendor/sub`);
      git(path, "commit", "--quiet", "--message=submodule");
      const { base: withGitlink } = await openBase(home.deps, { kind: "path", path }, defaultTreeLimits, never);

      await withWorkspace(
        async (workspace) => {
          expect(readdirSync(join(workspace.folder, "vendor/sub"))).toEqual([]);
          expect(await read(workspace)).toEqual([]);
          await shell(workspace, "touch vendor/sub/x");
          expect(await workspace.readBack()).toMatchObject({
            causes: ['"vendor/sub" is a submodule and must stay empty'],
          });
          await shell(workspace, "rm -r vendor");
          expect(await workspace.readBack()).toMatchObject({ causes: ['"vendor/sub" is a submodule and must stay'] });
        },
        {},
        withGitlink,
      );
    });

    it("accepts odd names that the base has already", async () => {
      const path = aRepository(join(home.folder, `odd-${checkout}`), {
        "Case.txt": "1",
        "case.txt": "2",
        "back\\slash": "3",
        "tab\tname": "4",
      });
      writeFileSync(Buffer.concat([Buffer.from(`${path}/latin`), Buffer.of(0xe9)]), "5");
      git(path, "add", "--all");
      git(path, "commit", "--quiet", "--message=odd");
      const { base: odd } = await openBase(home.deps, { kind: "path", path }, defaultTreeLimits, never);

      await withWorkspace(
        async (workspace) => {
          expect(await read(workspace)).toEqual([]);
          await shell(workspace, 'for f in *; do echo x >> "$f"; done');
          expect((await read(workspace)).map(({ path: name }) => name)).toEqual([
            "Case.txt",
            "back\\slash",
            "case.txt",
            "latin\u{dce9}",
            "tab\tname",
          ]);
        },
        {},
        odd,
      );
    });
  });

  describe("takeChanges", () => {
    it("tells each change once, against the state before it", async () => {
      await withWorkspace(async (workspace) => {
        await shell(workspace, "echo 1 > a.txt");
        const first = await workspace.takeChanges();
        await shell(workspace, "echo 2 > a.txt; echo n > n");
        const second = await workspace.takeChanges();
        await shell(workspace, "printf 'a\\n' > a.txt; rm n");
        const third = await workspace.takeChanges();

        const told = [first, second, third].map(
          (reading) =>
            reading.kind === "read" &&
            reading.changeSet.changes.map(({ path, before, after }) => [
              path,
              before?.sizeBytes ?? null,
              after === null ? null : Buffer.from(after.content).toString(),
            ]),
        );
        expect(told).toEqual([
          [["a.txt", 2, "1\n"]],
          [
            ["a.txt", 2, "2\n"],
            ["n", null, "n\n"],
          ],
          [
            ["a.txt", 2, "a\n"],
            ["n", 2, null],
          ],
        ]);
        expect(await read(workspace)).toEqual([]);
        expect(third.kind === "read" && third.fingerprint).toBe(await workspace.fingerprint());
      });
    });

    it("doesn't tell what the host itself has written and told", async () => {
      await withWorkspace(async (workspace) => {
        const before = await workspace.fingerprint();
        await workspace.createFile("new/file.txt", Buffer.from("n"));
        await workspace.apply({
          changes: [
            {
              path: "dir/b.txt",
              before: null,
              after: { mode: "100755", blobSha: blobShaOf(Buffer.from("B"), "sha1"), content: Buffer.from("B") },
            },
          ],
        });

        expect(await workspace.takeChanges()).toMatchObject({ kind: "read", changeSet: { changes: [] } });
        expect(await workspace.fingerprint()).not.toBe(before);
        expect((await read(workspace)).map(({ path, after }) => [path, after])).toEqual([
          ["dir/b.txt", "100755 B"],
          ["new/file.txt", "100644 n"],
        ]);
      });
    });

    it("answers what a naive walk of the whole tree finds, whatever was done to it", async () => {
      const name = fc.constantFrom("a.txt", "dir", "b", "dir/b.txt", "dir/deep", "x/y", "run.sh", "new");
      const step = fc.record({
        kind: fc.constantFrom("write", "remove", "chmod", "append"),
        name,
        text: fc.string({ maxLength: 4 }),
      });
      await withWorkspace(async (workspace) => {
        await fc.assert(
          fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
            const before = naiveWalk(workspace.folder);
            const script = steps.map(({ kind, name: at, text }) => commandOf(kind, at, text)).join("\n");
            await shell(workspace, script);

            const taken = await workspace.takeChanges();
            const whole = await workspace.readBack();

            const after = naiveWalk(workspace.folder);
            expect(summary(taken)).toEqual(naiveDifference(before, after));
            expect(summary(whole)).toEqual(naiveDifference(baseFiles(), after));
          }),
          { numRuns: 15 },
        );
      });
    });
  });
});

const commandOf = (kind: string, at: string, text: string): string => {
  const content = Buffer.from(text).toString("hex").replace(/../g, "\\x$&");
  if (kind === "remove") return `rm -rf ${at}`;
  if (kind === "chmod") return `[ -f ${at} ] && chmod ${text.length % 2 === 0 ? "+x" : "-x"} ${at}`;
  return `{ [ -d ${at} ] && rm -rf ${at}; mkdir -p $(dirname ${at}) && printf '${content}' ${kind === "write" ? ">" : ">>"} ${at}; } 2>/dev/null`;
};

type Files = ReadonlyMap<string, string>;

function naiveWalk(folder: string, prefix = ""): Files {
  const found = new Map<string, string>();
  for (const name of readdirSync(join(folder, prefix))) {
    const path = prefix === "" ? name : `${prefix}/${name}`;
    const facts = lstatSync(join(folder, path));
    if (facts.isDirectory()) for (const [below, what] of naiveWalk(folder, path)) found.set(below, what);
    else if (facts.isSymbolicLink())
      found.set(path, `120000 ${blobShaOf(Buffer.from(readlinkSync(join(folder, path))), "sha1")}`);
    else
      found.set(
        path,
        `${(facts.mode & 0o100) === 0 ? "100644" : "100755"} ${blobShaOf(readFileSync(join(folder, path)), "sha1")}`,
      );
  }
  return found;
}

const baseFiles = (): Files =>
  new Map(Array.from(base.entries, ([path, { mode, blobSha }]) => [path, `${mode} ${blobSha}`]));

function naiveDifference(before: Files, after: Files): [string, string | null][] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].filter(
    (path) => before.get(path) !== after.get(path),
  );
  return paths.sort().map((path) => [path, after.get(path) ?? null]);
}

const summary = (reading: Awaited<ReturnType<Workspace["readBack"]>>): [string, string | null][] => {
  if (reading.kind === "refused") throw new Error(reading.causes.join("; "));
  return reading.changeSet.changes.map(({ path, after }) => [
    path,
    after === null ? null : `${after.mode} ${after.blobSha}`,
  ]);
};
