import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sweepLeftovers } from "../../src/store/index.ts";
import { isWholeBase } from "../../src/workspace/base-check.ts";
import {
  type BaseTree,
  type CheckoutKind,
  defaultTreeLimits,
  openBase,
  type Workspace,
} from "../../src/workspace/index.ts";
import { readProcess } from "../../src/workspace/process-tree.ts";
import { openRoot } from "../../src/workspace/tree-folders.ts";
import {
  aBase,
  aConfinement,
  aHome,
  aRepository,
  aWorkspace,
  checkoutKinds,
  git,
  never,
  noTools,
  shell,
  type TestHome,
  testRunUids,
  writeFiles,
} from "../support/checkout.ts";

const asRoot = process.geteuid?.() === 0;
let home: TestHome;

beforeEach(() => {
  home = aHome();
});
afterEach(() => home.dispose());

const place = (...names: string[]): string => join(home.deps.home, ...names);
const mounts = (): readonly string[] =>
  readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .filter((line) => line.includes(home.folder));
const files = { a: "a\n", "d/b": "b\n", run: { program: "#!/bin/sh\n" }, s: { link: "a" } };

/** All below the service folder but the mirrors, which are kept. */
const leftovers = (): readonly string[] =>
  ["work", "locks", "processes"].flatMap((name) => readdirSync(place(name)).map((entry) => join(name, entry)));

describe.each(checkoutKinds)("a checkout of the kind `%s`", (checkout) => {
  const open = async (): Promise<Workspace> => aWorkspace(home, await aBase(home, files), { checkout });

  it("shows the base, belongs to the run's own user id, and lets it edit every file", async () => {
    await using workspace = await open();

    const told = await shell(
      workspace,
      "cat a d/b; readlink s; stat -c '%a %U' a d run; echo 1 >> a && echo 2 > d/new && rm run",
    );

    expect(workspace.checkout).toBe(checkout);
    expect(told.text).toBe("a\nb\na\n644 agent\n755 agent\n755 agent\n");
    expect(told.exitCode).toBe(0);
  });

  it("is gone with its mounts, processes and files once it is disposed", async () => {
    const before = mounts();
    const workspace = await open();
    await shell(workspace, "echo x > x; rm -r d; (setsid sleep 308 &)");
    await workspace.execApart(
      new Map([["f", Buffer.from("f")]]),
      { program: { kind: "argv", argv: ["true"] }, timeoutMs: 9000 },
      never,
    );

    await workspace[Symbol.asyncDispose]();

    expect(mounts()).toEqual(before);
    expect(leftovers()).toEqual([]);
    expect(readdirSync("/proc").filter((name) => commandOf(name) === "sleep 308")).toEqual([]);
  });

  it("leaves nothing where it could not be finished", async () => {
    const before = mounts();

    const base = { ...(await aBase(home, files)), mirrorFolder: join(home.folder, "no-mirror") };
    await expect(aWorkspace(home, base, { checkout })).rejects.toMatchObject({ code: "GIT_FAILED" });

    expect(mounts()).toEqual(before);
    expect(leftovers()).toEqual([]);
  });
});

// SEC-56
describe.runIf(asRoot).each(["overlay", "tmpfs"] as const)("the limits of a work folder, `%s`", (checkout) => {
  const limits = { workBytes: 4 * 1024 ** 2, workInodes: 200 };
  const bounded = () => ({ checkout, confinement: aConfinement(home, { limits }) });

  it("bound its bytes, and a full one is a refusal to whoever writes next", async () => {
    await using workspace = await aWorkspace(home, await aBase(home, files), bounded());

    const filled = await shell(workspace, "head -c 20000000 /dev/zero > big; stat -c %s big; echo 1 > more");

    expect(filled.text).toMatch(/No space left on device/);
    expect(Number(/^\d+$/m.exec(filled.text)?.[0])).toBeLessThanOrEqual(limits.workBytes);
    const written = await workspace.createFile("host", Buffer.alloc(8192));
    expect(written).toEqual({ kind: "refused", cause: expect.stringContaining("no space is left") });
    const { sha256 } = (await workspace.readFile("a", 10)) as { sha256: string };
    expect((await workspace.replaceFile("a", Buffer.alloc(8192), sha256)).kind).toBe("refused");
    await shell(workspace, "rm big");
    expect((await workspace.createFile("host", Buffer.alloc(8192))).kind).toBe("written");
  });

  it("bound its files, those of files laid down apart too", async () => {
    await using workspace = await aWorkspace(home, await aBase(home, files), bounded());
    const script = 'for n in $(seq 1000); do : > "n$n" || exit 7; done';

    const made = await shell(workspace, script);
    const apart = await workspace.execApart(
      new Map(),
      { program: { kind: "shell", script }, timeoutMs: 20_000 },
      never,
    );

    expect([made.exitCode, apart.exitCode]).toEqual([7, 7]);
    expect(readdirSync(workspace.folder).length).toBeLessThan(limits.workInodes);
  });
});

describe.runIf(asRoot)("the cached base tree (SEC-82)", () => {
  /** One for each test: a process of a test before that nobody has waited for yet keeps its id from the next. */
  let uid = 64_360;
  beforeEach(() => {
    uid += 2;
  });
  const trees = (): readonly string[] => readdirSync(place("bases")).map((name) => place("bases", name));
  const treeOf = (folder = trees()[0] ?? ""): string => join(folder, "tree");
  const dispose = (workspace: Workspace): PromiseLike<void> => workspace[Symbol.asyncDispose]();
  const use = async (base: BaseTree): Promise<void> => dispose(await overlay(base));
  const overlay = (base: BaseTree): Promise<Workspace> =>
    aWorkspace(home, base, { checkout: "overlay", runUids: `${uid}` });
  const isBase = async (base: BaseTree, folder = treeOf()): Promise<boolean> => {
    const root = openRoot(folder);
    try {
      return await isWholeBase({ root, base, uid });
    } finally {
      closeSync(root);
    }
  };

  it("is exactly the base, the run uid's own, behind a folder that nobody else may enter", async () => {
    const base = await aBase(home, files);
    await using workspace = await overlay(base);

    expect(await isBase(base)).toBe(true);
    expect(statSync(place("bases")).mode & 0o777).toBe(0o700);
    expect([statSync(place("bases")).uid, statSync(treeOf()).uid]).toEqual([0, uid]);
    const seen = await shell(workspace, `ls ${treeOf()} ${place()} 2>&1`);
    expect(seen.text.match(/No such file or directory/g)).toHaveLength(2);
  });

  it("is written once, and no run changes it", async () => {
    const base = await aBase(home, files);
    await use(base);
    const inode = lstatSync(join(treeOf(), "a")).ino;

    const workspace = await overlay(base);
    await shell(workspace, "echo changed > a; rm -r d; chmod -x run; ln -sf run s; truncate -s 0 run; touch new");
    await workspace.createFile("host", Buffer.from("h"));
    await dispose(workspace);

    expect(trees()).toHaveLength(1);
    expect(lstatSync(join(treeOf(), "a")).ino).toBe(inode);
    expect(await isBase(base)).toBe(true);
  });

  const damages: readonly [string, (folder: string) => void][] = [
    ["whose writing was cut short", (folder) => rmSync(join(folder, "seal"))],
    ["whose seal can't be read", (folder) => writeFileSync(join(folder, "seal"), '{"commitSha"')],
    ["with a changed file", (folder) => writeFileSync(join(folder, "tree/a"), "b\n")],
    ["with a missing file", (folder) => rmSync(join(folder, "tree/d/b"))],
    ["with a changed mode", (folder) => chmodSync(join(folder, "tree/run"), 0o644)],
    [
      "that is another folder",
      (folder) => {
        rmSync(join(folder, "tree"), { recursive: true });
        mkdirSync(join(folder, "tree"));
      },
    ],
    ["that was left open to others", (folder) => chmodSync(join(folder, ".."), 0o755)],
  ];

  it.each(damages)("is written anew in the place of one %s", async (_, damage) => {
    const base = await aBase(home, files);
    await use(base);
    const [before = ""] = trees();
    damage(before);

    await use(base);

    expect(trees()).not.toContain(before);
    expect(trees()).toHaveLength(1);
    expect(await isBase(base)).toBe(true);
    expect(statSync(place("bases")).mode & 0o777).toBe(0o700);
  });

  it("is read to the last byte before its first use after a start of the machine", async () => {
    const base = await aBase(home, {
      ...files,
      ...Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`many/${at}`, `${at}`])),
    });
    await use(base);
    const [folder = ""] = trees();
    const sealed = readFileSync(join(folder, "seal"), "utf8");
    const earlier = JSON.stringify({ ...JSON.parse(sealed), bootId: "an earlier one" });

    writeFileSync(join(folder, "seal"), earlier);
    await use(base);
    expect(readFileSync(join(folder, "seal"), "utf8")).toBe(sealed);

    writeFileSync(join(folder, "seal"), earlier);
    mkdirSync(join(folder, "tree", "node_modules"));
    writeFileSync(join(folder, "tree", "node_modules", "one-too-many"), "");
    await use(base);
    expect(trees()).not.toContain(folder);
  });

  it("of one commit is made into that of the next, what they have in common untouched", async () => {
    const path = aRepository(join(home.folder, "r"), { ...files, "gone/deep/x": "x", same: "same" });
    const opened = async (): Promise<BaseTree> =>
      (await openBase(home.deps, { kind: "path", path }, defaultTreeLimits, never)).base;
    const commit = (change: () => void): Promise<BaseTree> => {
      change();
      git(path, "add", "--all");
      git(path, "commit", "--quiet", "--message=next");
      return opened();
    };
    const bases = [
      await opened(),
      await commit(() => writeFiles(path, { a: "a2\n" })),
      await commit(() => {
        rmSync(join(path, "gone"), { recursive: true });
        rmSync(join(path, "d"), { recursive: true });
        rmSync(join(path, "s"));
        writeFiles(path, { d: "a file now\n", "s/below": "x", new: { link: "a" } });
        chmodSync(join(path, "run"), 0o644);
      }),
    ];
    const [first, second, third] = bases as [BaseTree, BaseTree, BaseTree];
    await use(first);
    const inode = lstatSync(join(treeOf(), "same")).ino;
    const [ofFirst = ""] = trees();
    await use(second);

    await use(third);

    expect(trees()).toHaveLength(2);
    expect(await isBase(third, treeOf(ofFirst))).toBe(true);
    expect(lstatSync(join(treeOf(ofFirst), "same")).ino).toBe(inode);
    expect(existsSync(join(treeOf(ofFirst), "gone"))).toBe(false);
  });

  it("is not touched as long as a run lies on it", async () => {
    const path = aRepository(join(home.folder, "r"), files);
    const next = async (): Promise<BaseTree> => {
      git(path, "commit", "--quiet", "--allow-empty", "--message=next");
      writeFiles(path, { a: String(Math.random()) });
      git(path, "commit", "--quiet", "--all", "--message=changed");
      return (await openBase(home.deps, { kind: "path", path }, defaultTreeLimits, never)).base;
    };
    const base = await next();
    await using workspace = await aWorkspace(home, base, { checkout: "overlay", runUids: `${uid - 1}` });
    const [held = ""] = trees();
    for (let at = 0; at < 3; at++) {
      await using other = await aWorkspace(home, await next(), { checkout: "overlay", runUids: `${uid}` });
      expect(other.checkout).toBe("overlay");
    }

    const root = openRoot(treeOf(held));
    expect(await isWholeBase({ root, base, uid: uid - 1 })).toBe(true);
    closeSync(root);
    expect((await shell(workspace, "cat a")).text).toBe(readFileSync(join(treeOf(held), "a"), "utf8"));
  });

  it("is used by the run of the user id that owns it where that id is free, and written for another where it is not", async () => {
    const base = await aBase(home, files);
    await use(base); // by the second of the two ids
    const open = (): Promise<Workspace> =>
      aWorkspace(home, base, { checkout: "overlay", runUids: `${uid - 1}-${uid}` });

    await using first = await open();
    expect([trees().length, statSync(first.folder).uid]).toEqual([1, uid]);
    await using second = await open();
    expect([trees().length, statSync(second.folder).uid]).toEqual([2, uid - 1]);
  });

  it("serves runs that start at once", async () => {
    const base = await aBase(home, files);

    const opened = await Promise.all([1, 2, 3].map(() => aWorkspace(home, base, { checkout: "overlay" })));
    const told = await Promise.all(opened.map((workspace) => shell(workspace, "cat a")));
    await Promise.all(opened.map(dispose));

    expect(told.map(({ text }) => text)).toEqual(["a\n", "a\n", "a\n"]);
    expect(mounts()).toEqual([]);
  });
});

describe.each(checkoutKinds)("what is written through a mapping that was read before (SEC-91), `%s`", (checkout) => {
  it("is a change of whoever wrote it, though no time of the file moves", async () => {
    await using workspace = await aWorkspace(home, await aBase(home, files), { checkout });
    await shell(workspace, "echo first > mapped; sync; sleep 0.1");
    await workspace.takeChanges();
    const script = `import mmap
with open("mapped", "r+b") as file:
    pages = mmap.mmap(file.fileno(), 0)
    pages[:]
    pages[0:5] = b"later"
    pages.close()`;

    await shell(workspace, `python3 -c '${script}'; cat mapped`);

    expect(await workspace.takeChanges()).toMatchObject({ changeSet: { changes: [{ path: "mapped" }] } });
  });
});

// SEC-61
describe.runIf(asRoot)("a service that is killed", () => {
  it.each(["overlay", "tmpfs"] as const)("leaves mounts (`%s`) that the next start takes off", async (checkout) => {
    const service = await aServiceWith(checkout);
    expect(mounts().length).toBeGreaterThan(0);

    service.kill("SIGKILL");
    await once(service, "exit");
    await commandEnds("sleep 309");
    const lines = await sweepLeftovers(home.deps.home);

    expect(mounts()).toEqual([]);
    expect(lines.join("\n")).toMatch(/unmounted .*\/work that a killed process had left/);
    expect(leftovers().filter((path) => !path.startsWith("locks"))).toEqual([]);
  });

  it("keeps its mounts from other mount namespaces, even where the machine shares them", async () => {
    const service = await aServiceWith("overlay", ["unshare", "--mount", "--propagation", "shared"]);
    const ofService = readFileSync(`/proc/${service.pid}/mountinfo`, "utf8")
      .split("\n")
      .filter((line) => line.includes(home.folder));

    const kinds = ofService.map((line) => [line.split(" - ")[1]?.split(" ")[0], / shared:/.test(line)]);
    service.kill("SIGKILL");
    await once(service, "exit");
    await commandEnds("sleep 309");
    expect(mounts()).toEqual([]); // they go with the last process of the namespace, before any next start
    await sweepLeftovers(home.deps.home);

    expect(kinds.slice(-2)).toEqual([
      ["tmpfs", false],
      ["overlay", false],
    ]);
    expect(mounts()).toEqual([]);
  });
});

/** A process of its own with a workspace in which a command runs. */
async function aServiceWith(checkout: CheckoutKind, before: readonly string[] = []): Promise<ChildProcess> {
  const repository = aRepository(join(home.folder, "repository"), files);
  const room = (name: string): string => JSON.stringify(new URL(`../../src/${name}/index.ts`, import.meta.url).href);
  const options = {
    ...{ runUids: testRunUids, toolsFolder: noTools(home), toolchains: [], environment: {}, checkout },
    ...{ limits: defaultTreeLimits, buildOutput: [], seccompFilter: null, confinement: aConfinement(home) },
  };
  const script = join(home.folder, "service.ts");
  writeFileSync(
    script,
    `import { registerProcess } from ${room("store")};
import { createWorkspace, defaultSearchPath, openBase, defaultTreeLimits } from ${room("workspace")};
import { randomBytes } from "node:crypto";
const home = ${JSON.stringify(home.deps.home)};
const never = new AbortController().signal;
const registered = (what, entry) => registerProcess(home, what, entry);
const deps = { home, searchPath: defaultSearchPath, randomBytes, registerProcess: registered };
const { base } = await openBase(deps, { kind: "path", path: ${JSON.stringify(repository)} }, defaultTreeLimits, never);
const workspace = await createWorkspace(deps, base, ${JSON.stringify(options)}, never);
const ended = workspace.exec({ program: { kind: "shell", script: "echo > ready; sleep 309" }, timeoutMs: 60000 }, never);
const { existsSync } = await import("node:fs");
while (!existsSync(workspace.folder + "/ready")) await new Promise((resolve) => setTimeout(resolve, 10));
console.log("ready");
await ended;
`,
  );
  const [program = "", ...argv] = [...before, process.execPath, script];
  const service = spawn(program, argv, { stdio: ["ignore", "pipe", "inherit"] });
  if (service.stdout === null) throw new Error("the service has no output");
  await once(service.stdout, "data");
  return service;
}

function commandOf(pid: string): string {
  try {
    const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
    return readProcess(Number(pid))?.state === "Z" ? "" : line;
  } catch {
    return "";
  }
}

async function commandEnds(command: string): Promise<void> {
  while (readdirSync("/proc").some((name) => commandOf(name) === command))
    await new Promise((resolve) => setTimeout(resolve, 10));
}
