import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CountersignError, type NewEntry } from "../../src/domain/index.ts";
import { isAfterEffect, type Ledger, openSpool, readSpools, spoolOutcomes } from "../../src/ledger/index.ts";
import { aMove, newTestActionId, startOfTime } from "../support/test-ledger.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "countersign-spool-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const runId = "0190a0a0-0000-7000-8000-000000000001" as never;
const outcome = (note: string) => ({
  runId,
  actionId: newTestActionId(),
  try: 1,
  state: "succeeded" as const,
  evidence: { note },
  time: new Date(startOfTime).toISOString(),
});

async function spooled(notes: readonly string[]): Promise<string> {
  await using spool = await openSpool(folder, "worker:1:2");
  for (const note of notes) await spool.keep(outcome(note));
  return spool.file;
}
const notesOf = async (): Promise<readonly unknown[]> =>
  (await readSpools(folder)).records.map(({ evidence }) => evidence["note"]);

describe("the spool of outcomes (AUD-54, AUD-57)", () => {
  it("gives back what was kept, of every worker, with its digest", async () => {
    await spooled(["one", "two"]);
    await using other = await openSpool(folder, "worker:3:4");
    await other.keep(outcome("three"));

    expect(await notesOf()).toEqual(["one", "two", "three"]);
    expect((await readSpools(folder)).records[0]?.digest).toMatch(/^[0-9a-f]{64}$/);
    expect((await readSpools(folder)).torn).toEqual([]);
  });

  it("is added to by a worker of the same name, open to nobody else, and gone where it holds nothing", async () => {
    const file = await spooled(["one"]);
    await spooled(["two"]);

    expect(await notesOf()).toEqual(["one", "two"]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await using empty = await openSpool(join(folder, "other"), "none");
    expect(await readSpools(join(folder, "other"))).toMatchObject({ records: [], torn: [] });
    expect(await readSpools(join(folder, "missing"))).toEqual({ records: [], files: [], torn: [] });
    expect(empty.file).toContain("none");
  });

  it("drops a record that is torn at any byte, names it, and keeps the ones before", async () => {
    const file = await spooled(["one", "two"]);
    const whole = readFileSync(file);
    const firstBytes = whole.byteLength / 2;

    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: firstBytes - 1 }), async (cut) => {
        writeFileSync(file, whole.subarray(0, firstBytes + cut));
        expect(await readSpools(folder)).toMatchObject({
          records: [{ evidence: { note: "one" } }],
          torn: [{ atByte: firstBytes, sizeBytes: cut }],
        });
      }),
    );
  });

  it("takes nothing for a record in which a bit was turned", async () => {
    const file = await spooled(["one", "two"]);
    const whole = readFileSync(file);

    await fc.assert(
      fc.asyncProperty(fc.nat({ max: whole.byteLength * 8 - 1 }), async (bit) => {
        const spoiled = Buffer.from(whole);
        spoiled.writeUInt8(spoiled.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
        writeFileSync(file, spoiled);
        const { records, torn } = await readSpools(folder);
        expect(records.length).toBe(bit >> 3 < whole.byteLength / 2 ? 0 : 1);
        expect(torn).toHaveLength(1);
      }),
    );
  });

  it("takes no zeros, and no length without end, for records", async () => {
    const file = await spooled(["one"]);
    const sizeBytes = statSync(file).size;
    for (const tail of [Buffer.alloc(4096), Buffer.alloc(100, 0xff)]) {
      truncateSync(file, sizeBytes);
      appendFileSync(file, tail);
      expect((await readSpools(folder)).torn).toEqual([
        { file: "worker%3A1%3A2.spool", atByte: sizeBytes, sizeBytes: tail.byteLength },
      ]);
    }
  });
});

describe("an outcome that can't be recorded (AUD-54, AUD-55)", () => {
  const outage = new CountersignError("LEDGER_UNAVAILABLE", "no answer", { details: { sqlstate: "53100" } });
  const failing = { append: () => Promise.reject(outage) } as unknown as Ledger;
  const append = async (entries: readonly NewEntry[], keep: () => Promise<void> = () => Promise.resolve()) =>
    spoolOutcomes(failing, { keep }, () => startOfTime)
      .append(null, { entries, sealed: [] })
      .then(
        () => null,
        (error: unknown) => error,
      );

  it.each(["succeeded", "failed_definite", "unknown"] as const)(
    "`%s` is spooled, and the caller told",
    async (state) => {
      await using spool = await openSpool(folder, "w");
      const entry = aMove(runId, newTestActionId(), state, { try: 2, evidence: { errorCode: null } });

      const error = await spoolOutcomes(failing, spool, () => startOfTime)
        .append(null, { entries: [entry], sealed: [] })
        .then(
          () => null,
          (thrown: unknown) => thrown,
        );

      expect(error).toMatchObject({ code: "LEDGER_UNAVAILABLE", details: { sqlstate: "53100", spooledCount: 1 } });
      expect(isAfterEffect(error)).toBe(true);
      const { actionId } = entry;
      const { records } = await readSpools(folder);
      expect(records).toMatchObject([{ actionId, state, try: 2, evidence: { errorCode: null } }]);
    },
  );

  it.each(["proposed", "denied", "cancelled", "started", "reconciling"] as const)(
    "`%s` is none: nothing is spooled",
    async (state) => {
      const error = await append([aMove(runId, newTestActionId(), state)], () => Promise.reject(new Error("kept")));

      expect(error).toBe(outage);
      expect(isAfterEffect(error)).toBe(false);
    },
  );

  it.each(["ENOSPC", "EIO", "EROFS"])("is said to be kept nowhere where the spool fails as well: %s", async (code) => {
    const full = Object.assign(new Error("no"), { code });
    const error = await append([aMove(runId, newTestActionId(), "succeeded")], () => Promise.reject(full));

    expect(error).toMatchObject({ code: "LEDGER_UNAVAILABLE", details: { spooledCount: 0, spoolError: code } });
    expect(isAfterEffect(error)).toBe(true);
  });
});
