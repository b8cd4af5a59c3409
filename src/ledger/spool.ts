import { createHash } from "node:crypto";
import { type FileHandle, open, readdir, readFile, rm, truncate } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import {
  type ActionId,
  type ActionState,
  CountersignError,
  canonicalBytes,
  type JsonObject,
  type RunId,
} from "../domain/index.ts";
import { createFolder, syncFolder } from "./key-file.ts";

/**
 * How an effect ended whose outcome the log could not take (AUD-54): ids, codes and commitments, as its entry would have
 * had them. The sealed texts are not kept: nothing stands in clear, and recovery looks at the world anyway.
 */
export type SpooledOutcome = {
  readonly runId: RunId;
  readonly actionId: ActionId;
  readonly try: number | null;
  /** What the entry would have said. */
  readonly state: ActionState;
  readonly evidence: JsonObject;
  /** ISO 8601. */
  readonly time: string;
};

/** A record as it was read back. `digest`: SHA-256 of its bytes, lower-case hex, for the entry that names it. */
export type SpoolRecord = SpooledOutcome & { readonly digest: string };

/** What is left of the spools of a machine's workers. */
export type SpoolReading = {
  readonly records: readonly SpoolRecord[];
  /** `owner`: the worker that it was opened for. */
  readonly files: readonly { readonly name: string; readonly owner: string; readonly actionIds: readonly ActionId[] }[];
  /** Ends of files that hold no whole record: a worker died, or its disk was full, as it wrote. */
  readonly torn: readonly { readonly file: string; readonly atByte: number; readonly sizeBytes: number }[];
};

/** The spool of one worker: one file, only ever added to (AUD-57). Disposing closes it, and removes it where it is empty. */
export type Spool = AsyncDisposable & {
  readonly file: string;
  /** Durable when it returns. Throws what the file system throws; then nothing of it is left in the file. */
  keep(outcome: SpooledOutcome): Promise<void>;
};

/** Length of what follows the head, as 32 bits in network order, and its SHA-256. */
const headSizeBytes = 4 + 32;
/** An entry has at most 16 KiB. */
const largestRecordBytes = 64 * 1024;

const suffix = ".spool";

/** Opens the spool of a worker, `owner`, in a folder that is made where it is missing. Throws what the file system throws. */
export async function openSpool(folder: string, owner: string): Promise<Spool> {
  await createFolder(folder);
  const file = join(folder, `${encodeURIComponent(owner)}${suffix}`);
  const handle = await open(file, "a", 0o600);
  let { size } = await handle.stat();
  await syncFolder(folder); // that the file itself is there after a crash
  const keep = async (outcome: SpooledOutcome): Promise<void> => {
    const frame = frameOf(outcome);
    try {
      await writeWhole(handle, frame);
      await handle.datasync();
    } catch (error) {
      await handle.truncate(size); // a torn record would hide the ones after it
      throw error;
    }
    size += frame.byteLength;
  };
  let turn: Promise<unknown> = Promise.resolve();
  return {
    file,
    keep: (outcome) => {
      const kept = turn.then(() => keep(outcome));
      turn = kept.catch(() => undefined); // told to its own caller
      return kept;
    },
    [Symbol.asyncDispose]: async () => {
      await turn;
      await handle.close();
      if (size === 0) await rm(file, { force: true }); // a home may be gone before its last user
    },
  };
}

async function writeWhole(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let from = 0; from < bytes.byteLength; ) {
    const { bytesWritten } = await handle.write(bytes, from);
    from += bytesWritten;
  }
}

function frameOf(outcome: SpooledOutcome): Uint8Array {
  const payload = canonicalBytes({ ...outcome });
  if (payload.byteLength > largestRecordBytes) {
    throw new CountersignError("LEDGER_ENTRY_TOO_LARGE", `an outcome of ${payload.byteLength} bytes can't be spooled`);
  }
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, payload.byteLength);
  return Buffer.concat([length, sha256(payload), payload]);
}

const sha256 = (bytes: Uint8Array): Buffer => createHash("sha256").update(bytes).digest();

/** Reads the spools of all workers of a machine; a folder that is not there holds none. Throws what the file system throws. */
export async function readSpools(folder: string): Promise<SpoolReading> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const files = names.filter((name) => name.endsWith(suffix)).sort();
  const read = (await Promise.all(files.map((name) => readSpool(folder, name)))).filter((one) => one !== null);
  return {
    records: read.flatMap(({ records }) => records),
    files: read.map(({ file }) => file),
    torn: read.flatMap(({ torn }) => torn),
  };
}

/** Null where its worker has ended meanwhile, and took it away. */
async function readSpool(folder: string, name: string) {
  const bytes = await readFile(join(folder, name)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (bytes === null) return null;
  const { records, tornAt, sizeBytes } = readFrames(bytes);
  const owner = decodeURIComponent(name.slice(0, -suffix.length));
  const file = { name, owner, actionIds: records.map(({ actionId }) => actionId) };
  return { records, file, torn: tornAt === null ? [] : [{ file: name, atByte: tornAt, sizeBytes }] };
}

const Spooled = z.strictObject({
  runId: z.uuid(),
  actionId: z.uuid(),
  try: z.int().min(1).nullable(),
  state: z.enum(["succeeded", "failed_definite", "unknown"]),
  evidence: z.record(z.string(), z.json()),
  time: z.iso.datetime(),
});

/** The whole records from the start; from the first one that is not whole on, nothing can be told apart. */
function readFrames(bytes: Buffer): {
  readonly records: readonly SpoolRecord[];
  readonly tornAt: number | null;
  readonly sizeBytes: number;
} {
  const records: SpoolRecord[] = [];
  let from = 0;
  while (from < bytes.byteLength) {
    const record = readFrame(bytes.subarray(from));
    if (record === null) return { records, tornAt: from, sizeBytes: bytes.byteLength - from };
    records.push(record.value);
    from += record.sizeBytes;
  }
  return { records, tornAt: null, sizeBytes: 0 };
}

function readFrame(bytes: Buffer): { readonly value: SpoolRecord; readonly sizeBytes: number } | null {
  if (bytes.byteLength < headSizeBytes) return null;
  const length = bytes.readUInt32BE(0);
  const sizeBytes = headSizeBytes + length;
  if (length === 0 || length > largestRecordBytes || bytes.byteLength < sizeBytes) return null;
  const payload = bytes.subarray(headSizeBytes, sizeBytes);
  const digest = sha256(payload);
  if (!digest.equals(bytes.subarray(4, headSizeBytes))) return null;
  const value = Spooled.parse(JSON.parse(payload.toString("utf8"))) as unknown as SpooledOutcome;
  return { value: { ...value, digest: digest.toString("hex") }, sizeBytes };
}

/** Drops the end of a spool whose worker is gone, once it is named (AUD-57). Throws what the file system throws. */
export const dropTorn = (folder: string, name: string, atByte: number): Promise<void> =>
  truncate(join(folder, name), atByte);

/** Takes away what a worker that is gone has left, once all of it is settled. Throws what the file system throws. */
export const removeSpool = (folder: string, name: string): Promise<void> => rm(join(folder, name));
