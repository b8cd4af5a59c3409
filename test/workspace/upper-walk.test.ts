import { spawnSync } from "node:child_process";
import { chownSync, closeSync, lchownSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TreeEntry } from "../../src/domain/index.ts";
import { blobShaOf } from "../../src/workspace/base-tree.ts";
import { ignoredFolders } from "../../src/workspace/ignored-folders.ts";
import { type BaseTree, defaultTreeLimits, type TreeLimits, type TreeReading } from "../../src/workspace/index.ts";
import { KnownTree } from "../../src/workspace/known-tree.ts";
import { makeWorkFolder } from "../../src/workspace/make-work-folder.ts";
import { Mounts } from "../../src/workspace/mounts.ts";
import { openRoot } from "../../src/workspace/tree-folders.ts";
import { nothingSetUp, type TreePlace } from "../../src/workspace/tree-judge.ts";
import { readBack, readChanges } from "../../src/workspace/tree-reading.ts";
import { aBase, aHome, aWorkspace, type Content, shell, type TestHome, writeFiles } from "../support/checkout.ts";

const asRoot = process.geteuid?.() === 0;
const owner = { uid: 64_397, gid: 64_397 };
let home: TestHome;
let overlays = 0;

beforeAll(() => {
  home = aHome();
  mkdirSync(home.deps.home, { mode: 0o711 });
});
afterAll(() => home.dispose());

const small: TreeLimits = {
  ...defaultTreeLimits,
  files: 11,
  totalBytes: 600,
  fileBytes: 120,
  changedFiles: 60,
  depth: 6,
};

type Files = Readonly<Record<string, Content>>;

function entryOf(content: Content): TreeEntry {
  const mode = typeof content === "object" && "link" in content ? "120000" : "100644";
  const isProgram = typeof content === "object" && "program" in content;
  const text = typeof content === "object" && "link" in content ? content.link : content;
  const bytes = Buffer.from(typeof text === "object" && "program" in text ? text.program : (text as string));
  return { mode: isProgram ? "100755" : mode, blobSha: blobShaOf(bytes, "sha1"), sizeBytes: bytes.length };
}

/** A base that is in no repository, and an overlay on it in which `run` runs bash as its owner, at once and without a sandbox. */
async function anOverlay(files: Files, submodules: readonly string[] = []) {
  const folder = join(home.deps.home, `overlay-${overlays++}`);
  const [lower, work] = [join(folder, "lower"), join(folder, "work")];
  for (const path of [folder, lower, work]) mkdirSync(path, { mode: 0o755 });
  writeFiles(lower, files);
  for (const path of submodules) mkdirSync(join(lower, path), { recursive: true });
  for (const name of readdirSync(lower, { recursive: true, encoding: "utf8" }))
    lchownSync(join(lower, name), owner.uid, owner.gid);
  chownSync(lower, owner.uid, owner.gid);
  const gitlink = { mode: "160000", blobSha: "1".repeat(40), sizeBytes: 0 } as const;
  const entries = new Map([
    ...Object.entries(files).map(([path, content]) => [path, entryOf(content)] as const),
    ...submodules.map((path) => [path, gitlink] as const),
  ]);
  const base: BaseTree = {
    repositoryId: "1",
    commitSha: "1".repeat(40),
    treeSha: "2".repeat(40),
    entries,
    mirrorFolder: "/nowhere",
  };

  const mounts = new Mounts(home.deps);
  const at = (name: string): string => makeWorkFolder(join(work, name), owner);
  expect(await mounts.tmpfs(work, { bytes: 2 ** 24, inodes: 1000 })).toBeNull();
  const [tree, upperFolder, kept] = [at("tree"), at("upper"), at("kept")];
  mkdirSync(join(work, "overlay"));
  const layer = (name: string): string => `${folder.slice(home.deps.home.length + 1)}/${name}`;
  const layers = { lower: layer("lower"), upper: layer("work/upper"), work: layer("work/overlay") };
  expect(await mounts.overlay(tree, layers)).toBeNull();
  const [root, upper] = [openRoot(tree), openRoot(upperFolder)];
  const overlay: TreePlace & { readonly upper: number } = {
    ...{
      root,
      upper,
      base,
      isIgnored: ignoredFolders(base, ["out"]),
      areStampsSure: false,
      setUp: nothingSetUp,
      limits: small,
      uid: owner.uid,
    },
  };
  return {
    place: overlay,
    run: (script: string): string => {
      const options = { cwd: tree, env: { PATH: "/usr/bin:/bin", KEPT: kept }, encoding: "utf8", ...owner } as const;
      return spawnSync("/bin/bash", ["--norc", "-c", script], options).stderr;
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      closeSync(upper);
      closeSync(root);
      await mounts.unmountAll();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Both ways of reading one overlay: its upper folder alone, and the whole of what it shows. */
async function readBothWays(tree: TreePlace): Promise<{ readonly upper: TreeReading; readonly whole: TreeReading }> {
  return { upper: await readBack(tree), whole: await readBack({ ...tree, upper: null }) };
}

/** Which of two names is told, and what lies behind a folder that is one of them, goes by the order in which they are listed. */
function comparable(reading: TreeReading): unknown {
  if (reading.kind === "read") return reading;
  const isByOrder = reading.causes.some((cause) => /can't be told from|^more than|too large/.test(cause));
  return isByOrder ? { kind: "refused" } : { kind: "refused", causes: [...reading.causes].sort() };
}

const candidates: Readonly<Record<string, Content>> = {
  a: "a\n",
  "d/a": "da\n",
  "d/b": "db\n",
  "d/e/f": "def\n",
  "d/e/g/h": "degh\n",
  "node_modules/kept/k": "k\n",
  run: { program: "#!/bin/sh\n" },
  s: { link: "a" },
  "x/y/z": "xyz\n",
};
const gitlinks = ["sub", "d/sub", "node_modules/sub"];
const places = [
  ...Object.keys(candidates),
  ...gitlinks,
  ...[
    "d",
    "d/e",
    "d/e/g",
    "x",
    "x/y",
    "n",
    "n/m",
    "n/m/o",
    "a/b",
    "node_modules",
    "out",
    "out/o",
    "d/out",
    ".git",
    ".git/c",
  ],
];
const hostilePlaces = [
  "A",
  "D/a",
  "d/.git",
  "x/y/.g\u200cit",
  "d/new\nline",
  "git~1",
  "d/e/\u00e9",
  "d/e/e\u0301",
  "b\\c",
];

const place = fc.oneof({ weight: 15, arbitrary: fc.constantFrom(...places) }, fc.constantFrom(...hostilePlaces));
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(fc.constant("write"), place, fc.constantFrom("", "a\n", "da\n", "new", "x".repeat(90))),
  },
  {
    weight: 5,
    arbitrary: fc.tuple(fc.constantFrom("remove", "touch", "executable", "plain", "anew", "remake"), place),
  },
  { weight: 4, arbitrary: fc.tuple(fc.constantFrom("move", "copy", "refill"), place, place) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom("link", "hard", "fifo", "sparse", "deep"), place, place) },
);

const commands: Readonly<Record<string, string>> = {
  write: '[ -d "$1" ] && rm -rf "$1"; mkdir -p "$(dirname "$1")" && printf %s "$2" > "$1"',
  remove: 'rm -rf "$1"',
  touch: 'touch -ch "$1"',
  executable: 'chmod +x "$1"',
  plain: '[ -f "$1" ] && chmod -x "$1"',
  anew: 'rm -rf "$1"; mkdir "$1"',
  remake: 'cp -a "$1" "$KEPT/it" && rm -rf "$1" && cp -a "$KEPT/it" "$1"; rm -rf "$KEPT/it"',
  move: 'mv -T "$1" "$2"',
  copy: 'cp -aT "$1" "$2"',
  refill: 'rm -rf "$1"; mkdir -p "$1" && cp -a "$2" "$1/"',
  link: 'ln -sfT "$1" "$2"',
  hard: 'ln -fT "$1" "$2"',
  fifo: 'mkfifo "$1"',
  sparse: 'truncate -s 1T "$1"',
  deep: 'mkdir -p "$1/1/2/3/4/5/6"',
};

const quoted = (text: string): string => `'${text}'`;
const scriptOf = (steps: readonly (readonly string[])[]): string =>
  steps.map(([kind = "", ...words]) => `set -- ${words.map(quoted).join(" ")}; ${commands[kind]}`).join("\n");

describe.runIf(asRoot)("reading the upper folder alone (SEC-82)", () => {
  it("gives what a walk of the whole tree gives, whatever was done to whatever base", async () => {
    const subset = fc.subarray(Object.keys(candidates), { minLength: 1 });
    const batches = fc.array(fc.array(step, { maxLength: 5 }), { minLength: 1, maxLength: 3 });
    let reads = 0;
    let refusals = 0;

    await fc.assert(
      fc.asyncProperty(subset, fc.subarray(gitlinks), batches, async (names, links, steps) => {
        await using overlay = await anOverlay(
          Object.fromEntries(names.map((name) => [name, candidates[name] ?? ""])),
          links,
        );
        const known = new KnownTree(overlay.place.base);
        const taken = new Map<string, string | null>();
        for (const batch of steps) {
          const startedAtMs = Date.now();
          overlay.run(scriptOf(batch));

          const { upper, whole } = await readBothWays(overlay.place);
          const changes = await readChanges(overlay.place, known, startedAtMs);

          expect(comparable(upper)).toEqual(comparable(whole));
          expect(changes.kind).toBe(whole.kind);
          if (changes.kind === "refused" || whole.kind === "refused") return void refusals++;
          reads++;
          for (const { path, after } of changes.changeSet.changes) taken.set(path, versionOf(after));
          expect(changes.fingerprint).toBe(whole.fingerprint);
          for (const { path, after } of whole.changeSet.changes) expect(taken.get(path), path).toBe(versionOf(after));
        }
      }),
      { numRuns: 40 },
    );

    expect(Math.min(reads, refusals), "a property that only ever refuses, or never, says little").toBeGreaterThan(0);
  });

  const versionOf = (after: { readonly mode: string; readonly blobSha: string } | null): string | null =>
    after === null ? null : `${after.mode} ${after.blobSha}`;

  const allOfD = ["-d/a", "-d/b", "-d/e/f", "-d/e/g/h"];
  const allMoved = ["+moved/a", "+moved/b", "+moved/e/f", "+moved/e/g/h"];
  const cases: readonly [string, string, readonly string[]][] = [
    ["a folder removed and made anew", "rm -r d; mkdir d; echo n > d/n", [...allOfD, "+d/n"]],
    ["a folder made anew below one that stays", "rm -r d/e; mkdir -p d/e/g; echo h > d/e/g/h", ["-d/e/f", "=d/e/g/h"]],
    ["a folder made anew with all that it had", 'cp -a d "$KEPT/d"; rm -r d; cp -a "$KEPT/d" d', []],
    ["files copied up without a change", "touch a d/a; chmod 700 d; chmod 755 d", []],
    ["a folder that is moved", "mv d moved", [...allOfD, ...allMoved]],
    ["a folder in the place of a file", "rm a; mkdir a; echo n > a/n", ["-a", "+a/n"]],
    ["a file in the place of a folder", "rm -r d; echo n > d", ["+d", ...allOfD]],
    ["everything gone", "rm -r ./*", ["-a", ...allOfD]],
  ];

  it.each(cases)("tells %s", async (_, script, expected) => {
    const { a = "", ...rest } = candidates;
    const files = Object.fromEntries(Object.entries(rest).filter(([path]) => path.startsWith("d/")));
    await using overlay = await anOverlay({ a, ...files });
    expect(overlay.run(script)).toBe("");

    const { upper, whole } = await readBothWays(overlay.place);

    expect(upper).toEqual(whole);
    const told = upper.kind === "read" ? upper.changeSet.changes : [];
    const sign = ({ before, after }: (typeof told)[number]): string => {
      if (after === null) return "-";
      return before === null ? "+" : "=";
    };
    expect(told.map((change) => sign(change) + change.path).sort()).toEqual([...expected].sort());
  });

  const crowded: readonly [string, string, "read" | "refused"][] = [
    ["one changed", "echo 1 > f1", "read"],
    ["one copied up", "touch f1", "read"],
    ["one more", "echo n > n", "refused"],
    ["one for another", "rm f1; echo n > n", "read"],
    ["one moved", "mv f1 n", "read"],
    ["one that became a folder of two", "rm f1; mkdir f1; touch f1/a f1/b", "refused"],
    ["folders for one", "rm f1; mkdir -p a/b/c/d", "read"],
    ["a larger one", "head -c 119 /dev/zero > f1", "refused"],
  ];

  it.each(crowded)("counts what shines through: a tree at its limits with %s", async (_, script, kind) => {
    const files = Object.fromEntries(Array.from({ length: small.files }, (_none, at) => [`f${at}`, "x".repeat(50)]));
    await using overlay = await anOverlay(files);
    expect(overlay.run(script)).toBe("");

    const { upper, whole } = await readBothWays(overlay.place);

    expect([upper.kind, whole.kind]).toEqual([kind, kind]);
  });

  it("tells a new name from those of the base that still stand, and from no others", async () => {
    for (const [script, kind] of [
      ["echo n > D/A || mkdir D", "refused"],
      ["echo n > d/A", "refused"],
      ["rm d/a; echo n > d/A", "read"],
      ["rm -r d; mkdir D; echo n > D/a", "read"],
      ["mv d D", "read"],
    ] as const) {
      await using overlay = await anOverlay({ "d/a": "a", "d/b": "b" });
      overlay.run(script);

      const { upper, whole } = await readBothWays(overlay.place);

      expect([upper.kind, whole.kind], script).toEqual([kind, kind]);
    }
  });

  it("takes no device for a deletion that a command could make", async () => {
    await using workspace = await aWorkspace(home, await aBase(home, { a: "a" }), { checkout: "overlay" });

    const made = await shell(workspace, "rm a; mknod a c 0 0");

    expect(made.text).toMatch(/Operation not permitted/);
  });
});
