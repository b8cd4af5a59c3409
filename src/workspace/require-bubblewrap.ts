import { execFile } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { promisify } from "node:util";
import { CountersignError } from "../domain/index.ts";
import { findProgram } from "./find-program.ts";
import type { WorkspaceDeps } from "./host.ts";

/** The first version with `--disable-userns` (its NEWS). */
const oldestVersion = [0, 8, 0] as const;

/** The version found, or BUBBLEWRAP_MISSING: not there, or too old. */
export async function requireBubblewrap(deps: Pick<WorkspaceDeps, "searchPath">): Promise<string> {
  const program = findProgram(deps.searchPath, "bwrap");
  if (program === null) {
    throw new CountersignError("BUBBLEWRAP_MISSING", `bwrap is in none of \`${deps.searchPath}\``);
  }
  const version = await versionOf(program);
  if (version === undefined || !isNewEnough(version)) {
    throw new CountersignError(
      "BUBBLEWRAP_MISSING",
      `\`${program}\` is version ${version ?? "unknown"}; needed is ${oldestVersion.join(".")} or newer`,
    );
  }
  return version;
}

const versions = new Map<string, string>();

/** Asked once of each file: a run that starts does not wait for it. */
async function versionOf(program: string): Promise<string | undefined> {
  const { ino, mtimeMs, size } = statSync(program);
  const file = `${program} ${ino} ${mtimeMs} ${size}`;
  const known = versions.get(file);
  if (known !== undefined) return known;
  const { stdout } = await promisify(execFile)(program, ["--version"], { env: {} }).catch(() => ({ stdout: "" }));
  const version = /\d+\.\d+\.\d+/.exec(stdout)?.[0];
  if (version !== undefined) versions.set(file, version);
  return version;
}

function isNewEnough(version: string): boolean {
  const parts = version.split(".").map(Number);
  for (const [at, oldest] of oldestVersion.entries()) {
    if (parts[at] !== oldest) return (parts[at] ?? 0) > oldest;
  }
  return true;
}

/** Reads one file of `/proc/sys`, or null where the kernel has no such setting. */
export type ReadSetting = (path: string) => string | null;

const readSetting: ReadSetting = (path) => {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return null;
  }
};

/** What an operator may set; nothing of it is ever set by us (SEC-60). */
const restrictions = [
  {
    path: "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    bad: "1",
    remedy:
      "allow bwrap user namespaces with an AppArmor profile (`userns,`), or set `sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
  },
  {
    path: "/proc/sys/kernel/unprivileged_userns_clone",
    bad: "0",
    remedy: "set `sysctl kernel.unprivileged_userns_clone=1`",
  },
  {
    path: "/proc/sys/user/max_user_namespaces",
    bad: "0",
    remedy: "set `sysctl user.max_user_namespaces=10000`",
  },
];

/** The remedy where this machine keeps ordinary users from making user namespaces; null where it doesn't. */
export function userNamespaceRemedy(read: ReadSetting = readSetting): string | null {
  return restrictions.find(({ path, bad }) => read(path) === bad)?.remedy ?? null;
}
