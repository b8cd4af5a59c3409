import { randomBytes, randomUUID } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ActionId, newActionId, newRunId, type RunId } from "../../src/domain/index.ts";
import { type Keys, openKeys } from "../../src/ledger/index.ts";

const ids = { clock: () => 1_700_000_000_000, randomBytes };
const place = (runId: RunId, actionId: ActionId | null = null, field = "arguments") => ({ runId, actionId, field });
const secret = Buffer.from('{"path":"src/secret-name.ts"}');

let home: string;
let folder: string;
const open = (): Promise<Keys> => openKeys({ randomBytes }, folder);
const everyFile = async (): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "countersign-keys-"));
  folder = join(home, "deep", "keys");
});
afterEach(() => rm(home, { recursive: true, force: true }));

describe("openKeys", () => {
  it("makes keys at the first start that only their owner can read, and opens the same ones later", async () => {
    const runId = newRunId(ids);
    const first = await open();
    await first.createRun(runId);
    const sealed = await first.seal(place(runId), secret);

    const second = await open();

    expect(second.instanceId).toBe(first.instanceId);
    expect(second.traceId(runId)).toBe(first.traceId(runId));
    expect(await second.runKey(runId)).toEqual(await first.runKey(runId));
    expect(Buffer.from((await second.open(place(runId), sealed)) ?? []).equals(secret)).toBe(true);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, "runs", runId))).mode & 0o777).toBe(0o700);
    const files = await everyFile();
    expect(files).toHaveLength(5);
    for (const file of files) expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it("gives twenty that start at once the same keys", async () => {
    const runId = newRunId(ids);

    const all = await Promise.all(Array.from({ length: 20 }, open));
    await Promise.all(all.map((keys) => keys.createRun(runId)));

    const sealed = await Promise.all(all.map((keys) => keys.seal(place(runId), secret)));
    expect(new Set(all.map((keys) => keys.instanceId)).size).toBe(1);
    expect(
      new Set(await Promise.all(all.map(async (keys) => Buffer.from(await keys.runKey(runId)).toString("hex")))).size,
    ).toBe(1);
    for (const one of sealed) expect(await (await open()).open(place(runId), one)).toEqual(secret);
    expect((await everyFile()).filter((file) => file.endsWith(".new"))).toEqual([]);
  });

  it.each([
    ["cut off in the middle", (path: string) => truncate(path, 40)],
    ["empty", (path: string) => truncate(path, 0)],
    ["missing", (path: string) => rm(path)],
    ["open to others", (path: string) => chmod(path, 0o640)],
    ["a link", async (path: string) => rm(path).then(() => symlink("kek-1.key", path))],
    [
      "one digit off",
      async (path: string) => {
        const text = await readFile(path, "utf8");
        await writeFile(
          path,
          text.replace(/ ([0-9a-f])/, (_all, digit: string) => ` ${digit === "0" ? "1" : "0"}`),
        );
      },
    ],
  ])("refuses a root key file that is %s, with its path, and makes no other", async (_how, damage) => {
    await open();
    const path = join(folder, "root.key");
    await damage(path);

    await expect(open()).rejects.toMatchObject({ code: "KEYS_UNUSABLE", details: { path } });
  });

  it("refuses the key of one name in the place of another", async () => {
    await open();
    await writeFile(join(folder, "root.key"), await readFile(join(folder, "kek-1.key")));

    await expect(open()).rejects.toMatchObject({ code: "KEYS_UNUSABLE" });
  });

  it("says which folder can't be made", async () => {
    await writeFile(join(home, "deep"), "a file");

    await expect(open()).rejects.toMatchObject({ code: "KEYS_UNUSABLE", details: { path: folder } });
  });
});

describe("sealing", () => {
  it("opens what it sealed, for any text, and nothing once one bit or its place was changed", async () => {
    const keys = await open();
    const runId = newRunId(ids);
    const otherRun = newRunId(ids);
    const actionId = newActionId(ids);
    await keys.createRun(runId);
    await keys.createRun(otherRun);
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.nat(), async (plaintext, at) => {
        const sealed = await keys.seal(place(runId, actionId), plaintext);
        const spoiled = Buffer.from(sealed.ciphertext);
        spoiled[at % spoiled.length] = (spoiled[at % spoiled.length] ?? 0) ^ (1 << (at % 8));

        expect(Buffer.from((await keys.open(place(runId, actionId), sealed)) ?? []).equals(plaintext)).toBe(true);
        await expect(keys.open(place(runId, actionId), { ...sealed, ciphertext: spoiled })).rejects.toThrow();
        await expect(keys.open(place(runId, newActionId(ids)), sealed)).rejects.toThrow("doesn't open");
        await expect(keys.open(place(runId, actionId, "raw"), sealed)).rejects.toThrow("doesn't open");
        await expect(keys.open(place(otherRun, actionId), sealed)).rejects.toThrow("doesn't open");
      }),
      { numRuns: 50 },
    );
  });

  it("opens nothing any more once the run's folder is deleted, and says that rather than failing", async () => {
    const runId = newRunId(ids);
    const keys = await open();
    await keys.createRun(runId);
    const sealed = await keys.seal(place(runId), secret);
    await rm(join(folder, "runs", runId), { recursive: true });

    const later = await open();

    expect(await later.open(place(runId), sealed)).toBeNull();
    await expect(later.runKey(runId)).rejects.toMatchObject({ code: "KEYS_UNUSABLE" });
  });

  it("keeps a person's texts under a key of their own", async () => {
    const runId = newRunId(ids);
    const reference = randomUUID();
    const keys = await open();
    await keys.createRun(runId);
    const sealed = await keys.seal({ ...place(runId), subject: reference }, secret);
    await rm(join(folder, "runs", runId, `data-${reference}.key`));

    expect(sealed.keyId).toBe(reference);
    expect(await (await open()).open(place(runId), sealed)).toBeNull();
  });

  it("wraps new data keys under the newest key-encryption key and still opens older ones", async () => {
    const [before, after] = [newRunId(ids), newRunId(ids)];
    const keys = await open();
    await keys.createRun(before);
    const sealed = await keys.seal(place(before), secret);
    const { createKeyFile } = await import("../../src/ledger/key-file.ts");
    await createKeyFile({ path: folder, randomBytes }, "kek-2.key", randomBytes(32));
    await keys.createRun(after);

    await rm(join(folder, "kek-2.key"));
    const later = await open();

    expect(await later.open(place(before), sealed)).toEqual(secret);
    await expect(later.seal(place(after), secret)).rejects.toMatchObject({
      code: "KEYS_UNUSABLE",
      details: { path: join(folder, "kek-2.key") },
    });
  });

  it("refuses to seal for a run whose keys were never made: that is a bug", async () => {
    const keys = await open();

    await expect(keys.seal(place(newRunId(ids)), secret)).rejects.toThrow("createRun comes before");
  });
});

describe("ids under an instance key", () => {
  it("depend on what they stand for and on the instance, and each use has its own key", async () => {
    const runId = newRunId(ids);
    const actionId = newActionId(ids);
    const keys = await open();
    const other = await openKeys({ randomBytes }, join(home, "other"));

    expect(keys.traceId(runId)).toMatch(/^[0-9a-f]{32}$/);
    expect(keys.traceId(runId)).toBe((await open()).traceId(runId));
    expect(keys.traceId(runId)).not.toBe(other.traceId(runId));
    expect(keys.spanId(runId)).toMatch(/^[0-9a-f]{16}$/);
    expect(keys.spanId(runId)).toBe((await open()).spanId(runId));
    expect(keys.spanId(runId)).not.toBe(other.spanId(runId));
    expect(keys.traceId(runId).startsWith(keys.spanId(runId))).toBe(false);
    expect(keys.spanId("a", "bc")).not.toBe(keys.spanId("ab", "c"));
    expect(keys.marker("1", actionId)).not.toBe(keys.idempotencyKey("1", actionId));
  });
});
