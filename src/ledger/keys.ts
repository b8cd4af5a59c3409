import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import { basename } from "node:path";
import {
  type ActionId,
  CountersignError,
  canonicalBytes,
  deriveRunKey,
  type RandomBytes,
  type RunId,
  type TraceId,
} from "../domain/index.ts";
import { createFolder, createKeyFile, createKeyFolder, type KeyFolder, readKeyFile } from "./key-file.ts";

/** What a sealed text belongs to. `subject`: a person's reference, or `run` for the run as a whole (AUD-80). */
export type SealPlace = {
  readonly runId: RunId;
  readonly actionId: ActionId | null;
  readonly field: string;
  readonly subject?: string;
};

/** A sealed text as stored. `keyId` names the data key's subject; the key itself is in a file. */
export type Sealed = { readonly keyId: string; readonly nonce: Uint8Array; readonly ciphertext: Uint8Array };

/** The secrets of one instance. Only digests, ids and ciphertexts come out, never a key but the run key and that of the markers. */
export type Keys = {
  /** 32 lower-case hex digits, made at the first start. */
  readonly instanceId: string;
  /** Makes the run's salt and run-wide data key durable; must come before the run's first entry. Repeating it is harmless. */
  createRun(runId: RunId): Promise<void>;
  /** Key of `arguments_digest`. Throws `KEYS_UNUSABLE` where the run has no salt: never made, or erased. */
  runKey(runId: RunId): Promise<Uint8Array>;
  /** Depends on the run id alone, so that a trace goes on after a crash (AUD-71). */
  traceId(runId: RunId): TraceId;
  /** 16 lower-case hex digits from the ids of the record that the span stands for (AUD-71). */
  spanId(...recordIds: readonly string[]): string;
  /** Key of the markers in texts on GitHub, for whoever writes and reads them; made for this use alone (AUD-62). */
  readonly markerKey: Uint8Array;
  /** MAC of the markers in texts on GitHub (AUD-62). */
  marker(repositoryId: string, actionId: ActionId): string;
  /** From whatever tells one effect from another (AUD-62). */
  idempotencyKey(...parts: readonly string[]): string;
  /** AES-256-GCM; additional data: action id (else run id), field, version. */
  seal(place: SealPlace, plaintext: Uint8Array): Promise<Sealed>;
  /** Null where the data key was erased. Throws `KEYS_UNUSABLE` where key, place or ciphertext is not the one sealed. */
  open(place: SealPlace, sealed: Sealed): Promise<Uint8Array | null>;
};

/** Name of the instance's log and, later, of its signing key (AUD-43). */
export const originOf = (keys: Pick<Keys, "instanceId">): string => `countersign/${keys.instanceId}`;

const keySizeBytes = 32;
/** Of GCM (NIST SP 800-38D): nonce and tag as recommended there. */
const gcmNonceSizeBytes = 12;
const gcmTagSizeBytes = 16;
const sealVersion = 1;
const wholeRun = "run";

type Unlocked = {
  readonly folder: KeyFolder;
  readonly rootKey: Uint8Array;
  readonly instanceId: string;
  /** By run and subject. A key erased meanwhile by another process is dropped with this process. */
  readonly dataKeys: Map<string, KeyObject>;
  /** Key-encryption keys by number; which one is the newest is looked up each time. */
  readonly keks: Map<number, KeyObject>;
  readonly runKeys: Map<RunId, Uint8Array>;
};

/**
 * Opens the keys in `folder`, which several machines may share, and makes them at the first start: root key, first
 * key-encryption key, instance id. Files are 0600 in a folder 0700. Throws `KEYS_UNUSABLE` with the path, or `DISK_FULL`.
 */
export async function openKeys(deps: { readonly randomBytes: RandomBytes }, folder: string): Promise<Keys> {
  const keys: KeyFolder = { path: folder, randomBytes: deps.randomBytes };
  await createFolder(folder).catch((cause: unknown) => {
    throw new CountersignError("KEYS_UNUSABLE", `the folder \`${folder}\` can't be made`, {
      cause,
      details: { path: folder },
    });
  });
  // The instance id is written last: where it stands, a missing key was lost and must not be made anew.
  const isFirstStart = (await readKeyFile(keys, "instance.key")) === null;
  const rootKey = isFirstStart ? await make(keys, "root.key", keySizeBytes) : await need(keys, "root.key");
  if (isFirstStart) await make(keys, kekName(1), keySizeBytes);
  else await need(keys, kekName(1));
  const instanceId = isFirstStart ? await make(keys, "instance.key", 16) : await need(keys, "instance.key");
  return createKeys({
    folder: keys,
    rootKey,
    instanceId: Buffer.from(instanceId).toString("hex"),
    dataKeys: new Map(),
    keks: new Map(),
    runKeys: new Map(),
  });
}

const kekName = (kek: number): string => `kek-${kek}.key`;
const make = async (folder: KeyFolder, name: string, sizeBytes: number): Promise<Uint8Array> =>
  (await readKeyFile(folder, name)) ?? createKeyFile(folder, name, folder.randomBytes(sizeBytes));

async function need(folder: KeyFolder, name: string): Promise<Uint8Array> {
  const bytes = await readKeyFile(folder, name);
  if (bytes !== null) return bytes;
  const path = `${folder.path}/${name}`;
  throw new CountersignError("KEYS_UNUSABLE", `the key file \`${path}\` is missing`, { details: { path } });
}

function createKeys(unlocked: Unlocked): Keys {
  const { rootKey, instanceId } = unlocked;
  const instanceKey = (use: string): Uint8Array =>
    new Uint8Array(hkdfSync("sha256", rootKey, instanceId, `countersign/${use}/v1`, keySizeBytes));
  const useKeys = {
    traceId: createSecretKey(instanceKey("trace-id")),
    spanId: createSecretKey(instanceKey("span-id")),
    marker: createSecretKey(instanceKey("marker")),
    idempotency: createSecretKey(instanceKey("idempotency")),
  };
  // Canonical JSON keeps `a, bc` and `ab, c` apart.
  const mac = (use: keyof typeof useKeys, parts: readonly string[]): string =>
    createHmac("sha256", useKeys[use]).update(canonicalBytes(parts)).digest("hex");
  return {
    instanceId,
    markerKey: instanceKey("github-marker"),
    createRun: async (runId) => {
      if (await createRunFolder(unlocked, runId)) return;
      const salt = make(unlocked.folder, saltName(runId), keySizeBytes);
      await Promise.all([salt, dataKey(unlocked, runId, wholeRun, "make")]);
    },
    runKey: async (runId) => {
      const known = unlocked.runKeys.get(runId);
      if (known !== undefined) return known;
      const runKey = deriveRunKey(rootKey, await need(unlocked.folder, saltName(runId)));
      unlocked.runKeys.set(runId, runKey);
      return runKey;
    },
    traceId: (runId) => mac("traceId", [runId]).slice(0, 32) as TraceId,
    spanId: (...recordIds) => mac("spanId", recordIds).slice(0, 16),
    marker: (repositoryId, actionId) => mac("marker", [repositoryId, actionId]),
    idempotencyKey: (...parts) => mac("idempotency", parts),
    seal: async (place, plaintext) => {
      const subject = place.subject ?? wholeRun;
      const key = await dataKey(unlocked, place.runId, subject, subject === wholeRun ? "need" : "make");
      if (key === null) throw new Error(`no data key: createRun comes before the first entry of run ${place.runId}`);
      return { keyId: subject, ...encrypt(unlocked, key, additionalData(place, subject), plaintext) };
    },
    open: async (place, sealed) => {
      const key = await dataKey(unlocked, place.runId, sealed.keyId, "need");
      return key && decrypt(key, additionalData(place, sealed.keyId), sealed, place.field);
    },
  };
}

const saltName = (runId: RunId): string => `runs/${runId}/salt.key`;
const dataKeyName = (runId: RunId, subject: string): string => `runs/${runId}/data-${subject}.key`;

/** Both keys of a new run at once: fewer waits for the disk. False where the run has keys, or some of them. */
async function createRunFolder(unlocked: Unlocked, runId: RunId): Promise<boolean> {
  const { folder } = unlocked;
  if ((await readKeyFile(folder, saltName(runId))) !== null) return false;
  const name = dataKeyName(runId, wholeRun);
  const key = folder.randomBytes(keySizeBytes);
  const files = new Map([
    [basename(saltName(runId)), folder.randomBytes(keySizeBytes)],
    [basename(name), await wrap(unlocked, name, key)],
  ]);
  const isMade = await createKeyFolder(folder, `runs/${runId}`, files);
  if (isMade) unlocked.dataKeys.set(name, createSecretKey(key));
  return isMade;
}

const additionalData = (place: SealPlace, subject: string): Uint8Array =>
  canonicalBytes([place.actionId ?? place.runId, place.field, sealVersion, subject]);

/** One for each run and subject, wrapped in its file by the key-encryption key whose number stands before it. */
async function dataKey(
  unlocked: Unlocked,
  runId: RunId,
  subject: string,
  absent: "make" | "need",
): Promise<KeyObject | null> {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(subject)) {
    if (absent === "need") return null; // from a row that someone changed: there is no such key
    throw new Error("a subject is `run` or a person's random reference");
  }
  const name = dataKeyName(runId, subject);
  const known = unlocked.dataKeys.get(name);
  if (known !== undefined) return known;
  let wrapped = await readKeyFile(unlocked.folder, name);
  if (wrapped === null && absent === "need") return null;
  if (wrapped === null) {
    const fresh = await wrap(unlocked, name, unlocked.folder.randomBytes(keySizeBytes));
    wrapped = await createKeyFile(unlocked.folder, name, fresh);
  }
  const kek = await kekOf(unlocked, Buffer.from(wrapped).readUInt32BE(0));
  const key = createSecretKey(decrypt(kek, canonicalBytes([name]), split(wrapped.subarray(4)), name));
  unlocked.dataKeys.set(name, key);
  return key;
}

/** Under the newest key-encryption key, its number before it. */
async function wrap(unlocked: Unlocked, name: string, key: Uint8Array): Promise<Uint8Array> {
  let number = Math.max(1, ...unlocked.keks.keys());
  while ((await readKeyFile(unlocked.folder, kekName(number + 1))) !== null) number += 1;
  const kek = await kekOf(unlocked, number);
  const { nonce, ciphertext } = encrypt(unlocked, kek, canonicalBytes([name]), key);
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(number);
  return Buffer.concat([prefix, nonce, ciphertext]);
}

async function kekOf({ folder, keks }: Unlocked, number: number): Promise<KeyObject> {
  const kek = keks.get(number) ?? createSecretKey(await need(folder, kekName(number)));
  keks.set(number, kek);
  return kek;
}

const split = (bytes: Uint8Array): { nonce: Uint8Array; ciphertext: Uint8Array } => ({
  nonce: bytes.subarray(0, gcmNonceSizeBytes),
  ciphertext: bytes.subarray(gcmNonceSizeBytes),
});

function encrypt(
  unlocked: Unlocked,
  key: KeyObject,
  additional: Uint8Array,
  plaintext: Uint8Array,
): { nonce: Uint8Array; ciphertext: Uint8Array } {
  const nonce = unlocked.folder.randomBytes(gcmNonceSizeBytes);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(additional);
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
  return { nonce, ciphertext };
}

function decrypt(
  key: KeyObject,
  additional: Uint8Array,
  sealed: { nonce: Uint8Array; ciphertext: Uint8Array },
  what: string,
): Uint8Array {
  const end = sealed.ciphertext.byteLength - gcmTagSizeBytes;
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, sealed.nonce, { authTagLength: gcmTagSizeBytes });
    decipher.setAAD(additional).setAuthTag(sealed.ciphertext.subarray(end));
    return Buffer.concat([decipher.update(sealed.ciphertext.subarray(0, end)), decipher.final()]);
  } catch (cause) {
    throw notOpened(what, cause);
  }
}

function notOpened(what: string, cause: unknown): CountersignError {
  return new CountersignError("KEYS_UNUSABLE", `what was sealed as \`${what}\` doesn't open with its key`, { cause });
}
