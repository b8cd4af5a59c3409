import { readdirSync, readFileSync, statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { CountersignError } from "../domain/index.ts";
import { claim, tryClaim } from "./claim.ts";
import { isRoot, type Owner, type WorkspaceDeps } from "./host.ts";
import { isGone, readProcess, unlessGone } from "./process-tree.ts";
import { hasProcessGroup, isInSandboxGroup, type Rung } from "./rung.ts";

const refuse = (cause: string): never => {
  throw new CountersignError("RUN_UID_UNUSABLE", cause);
};

/** Reads `64200` or `64200-64299`. Throws RUN_UID_UNUSABLE. */
export function parseRunUids(text: string): { readonly first: number; readonly last: number } {
  const [, first = "", last = first] = /^(\d{1,10})(?:-(\d{1,10}))?$/.exec(text.trim()) ?? [];
  const range = { first: Number(first), last: Number(last) };
  if (first === "")
    refuse(`COUNTERSIGN_RUN_UIDS is \`${text}\`; expected is a user id or a range such as \`64200-64299\``);
  if (range.first === 0) refuse("COUNTERSIGN_RUN_UIDS holds user id 0; a sandbox is never started by root");
  // 4294967295 is "no id" to the kernel, 65534 is everybody whose id it can't name
  if (range.last >= 4_294_967_295 || range.last < range.first) refuse(`COUNTERSIGN_RUN_UIDS is no range: \`${text}\``);
  if (range.first <= 65534 && range.last >= 65534)
    refuse("COUNTERSIGN_RUN_UIDS holds user id 65534, which is nobody's own");
  return range;
}

/**
 * How many sandboxes can run at once (SEC-42): any number where the kernel counts the tasks of each by itself, else as many as
 * there are user ids; an ordinary user has one.
 */
export function sandboxesAtOnce(runUids: string | null, rung: Pick<Rung, "name">): number {
  if (hasProcessGroup(rung)) return Number.POSITIVE_INFINITY;
  if (!isRoot() || runUids === null) return 1;
  const { first, last } = parseRunUids(runUids);
  return last - first + 1;
}

/** One line for people: whom sandboxes run as, and loud where it is the service's own user (SEC-42). */
export function describeOwner(owner: Owner): string {
  if (owner !== null) return `a user id that owns nothing else, ${owner.uid} for one`;
  const shared = "the mounts alone keep its files away, and what the kernel counts by user id is shared with it";
  return `WARNING: the service's own user, ${process.geteuid?.()}: ${shared}`;
}

/** Choosing takes milliseconds; this long only where many runs start at once. */
const choosingWaitMs = 60_000;

/** Whom a sandbox runs as, held until released. `owner` null: the service is not root and uses its own uid. */
export type RunUid = { readonly owner: Owner; release(): Promise<void> };

export type RunUidChoice = {
  readonly isShared: boolean;
  /** Those of the range that are taken before any other where they are free: a cached tree of the run's base is theirs already. */
  readonly preferred?: ReadonlySet<number>;
};

/**
 * A user id for one run (SEC-41, SEC-42): as root one of the range that no passwd entry names, that owns no process and
 * that no other run of this home holds: the kernel keeps budgets by user id (inotify, pipes, queues) that no group divides. `isShared`,
 * where each sandbox has a group of its own that counts its tasks: processes in such groups don't count, and where all ids are held the
 * first serves further runs. Throws RUN_UID_UNUSABLE.
 */
export async function takeRunUid(
  deps: WorkspaceDeps,
  runUids: string | null,
  { isShared, preferred = new Set() }: RunUidChoice,
  signal: AbortSignal,
): Promise<RunUid> {
  if (!isRoot()) return { owner: null, release: async () => {} };
  if (runUids === null)
    return refuse("started by root without COUNTERSIGN_RUN_UIDS; a sandbox is never started by root");
  const range = parseRunUids(runUids);
  const named = namedUids().filter(({ uid }) => uid >= range.first && uid <= range.last);
  if (named[0] !== undefined) refuse(`user id ${named[0].uid} of COUNTERSIGN_RUN_UIDS belongs to \`${named[0].name}\``);
  // One chooser at a time: of two that try the same id at once both may step back, and so on through the range.
  const turn = await claim(deps, "run-uids", choosingWaitMs, signal);
  try {
    const own = await ownUid(deps, inOrder(range, preferred), isShared ? livesOutside : () => true);
    return own ?? (isShared ? await sharedUid(range, signal) : null) ?? refuseBusy(runUids);
  } finally {
    await turn.release();
  }
}

type Range = ReturnType<typeof parseRunUids>;

function* inOrder({ first, last }: Range, preferred: ReadonlySet<number>): Generator<number> {
  for (const uid of preferred) if (uid >= first && uid <= last) yield uid;
  for (let uid = first; uid <= last; uid++) if (!preferred.has(uid)) yield uid;
}

async function ownUid(
  deps: WorkspaceDeps,
  uids: Iterable<number>,
  counts: (pid: number) => boolean,
): Promise<RunUid | null> {
  const busy = uidsOfProcesses(counts);
  for (const uid of uids) {
    const taken = busy.has(uid) ? null : await tryClaim(deps, `uid-${uid}`);
    if (taken !== null) return { owner: { uid, gid: uid }, release: () => taken.release() };
  }
  return null;
}

const refuseBusy = (runUids: string): never =>
  refuse(`each user id of COUNTERSIGN_RUN_UIDS \`${runUids}\` is in use by another run or owns a process`);

/** A launcher that waits to be taken into its group is outside for milliseconds, and looks like a stranger. */
const admissionWaitMs = 5_000;

async function sharedUid(range: Range, signal: AbortSignal): Promise<RunUid | null> {
  for (const startedAt = performance.now(); ; await delay(50, undefined, { signal })) {
    const busy = uidsOfProcesses(livesOutside);
    for (let uid = range.first; uid <= range.last; uid++) {
      if (!busy.has(uid)) return { owner: { uid, gid: uid }, release: async () => {} };
    }
    if (performance.now() - startedAt > admissionWaitMs) return null;
  }
}

/** What has ended and was not yet waited for holds nothing, and is in no group any more. */
function livesOutside(pid: number): boolean {
  const facts = readProcess(pid);
  return facts !== null && !isGone(pid, facts.startTime) && !isInSandboxGroup(pid);
}

function namedUids(): { readonly name: string; readonly uid: number }[] {
  let text = "";
  try {
    text = readFileSync("/etc/passwd", "utf8");
  } catch {
    // a machine without the file names nobody
  }
  return text.split("\n").flatMap((line) => {
    const [name = "", , uid = ""] = line.split(":");
    return /^\d+$/.test(uid) ? { name, uid: Number(uid) } : [];
  });
}

/** User ids of the processes that count. */
function uidsOfProcesses(counts: (pid: number) => boolean): Set<number> {
  const uids = new Set<number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const uid = unlessGone(() => statSync(`/proc/${name}`))?.uid;
    if (uid !== undefined && !uids.has(uid) && counts(Number(name))) uids.add(uid);
  }
  return uids;
}
