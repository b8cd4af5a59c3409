import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defaultSearchPath } from "../../src/workspace/index.ts";

/** One flag of SEC-43 that a control takes away. */
export type Removal = {
  readonly flag: string;
  /** How many words belong to it. */
  readonly operands: 0 | 1 | 2;
  /** Only where its last word is this one. */
  readonly of?: string;
  /** What stands in its place with the same words; else nothing does. */
  readonly instead?: string;
};

/** What a throw-away sandbox differs in from every other. */
export type Weakness = {
  readonly removed: readonly Removal[];
  /** Further words before the command. */
  readonly added?: readonly string[];
  /** What bubblewrap itself is started with, as a careless service would. */
  readonly environment?: Readonly<Record<string, string>>;
};

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

function removing({ flag, operands, of, instead }: Removal): string {
  const words = Array.from({ length: operands }, (_, at) => `"$${at + 2}"`);
  const isMeant = [`[ "$1" = ${flag} ]`, ...(of === undefined ? [] : [`[ "$${operands + 1}" = ${quoted(of)} ]`])];
  const replaced = instead === undefined ? "" : `words+=(${[instead, ...words].join(" ")}); `;
  return `  if ${isMeant.join(" && ")}; then ${replaced}shift ${operands + 1}; continue; fi`;
}

/**
 * A search path in which `bwrap` is a script that starts the real one with other flags. The product has no switch for that, so
 * that nobody can find one.
 */
export function searchPathWithWeakBubblewrap(
  folder: string,
  { removed, added = [], environment = {} }: Weakness,
): string {
  const place = join(folder, `weak-${randomBytes(4).toString("hex")}`);
  mkdirSync(place);
  chmodSync(place, 0o755);
  const variables = Object.entries(environment).map(([name, value]) => `export ${name}=${quoted(value)}`);
  const isUnfiltered = removed.some(({ flag }) => flag === "--seccomp");
  const script = [
    "#!/bin/bash",
    `PATH=${defaultSearchPath
      .split(":")
      .filter((one) => one !== place)
      .join(":")}`,
    "bwrap=$(command -v bwrap)",
    "unset PATH",
    '[ "$1" = --version ] && exec "$bwrap" --version',
    "words=()",
    'while [ $# -gt 0 ] && [ "$1" != -- ]; do',
    ...removed.map(removing),
    '  words+=("$1"); shift',
    "done",
    ...variables,
    `exec "$bwrap" "\${words[@]}" ${added.map(quoted).join(" ")} "$@"${isUnfiltered ? " 4<&-" : ""}`,
    "",
  ].join("\n");
  writeFileSync(join(place, "bwrap"), script);
  chmodSync(join(place, "bwrap"), 0o755);
  return `${place}:${defaultSearchPath}`;
}

const drop = (flag: string, operands: Removal["operands"] = 0, of?: string): Removal =>
  of === undefined ? { flag, operands } : { flag, operands, of };
const writable = (of: string): Weakness => ({ removed: [{ flag: "--ro-bind", operands: 2, of, instead: "--bind" }] });

/** Every barrier flag of SEC-133, each taken away alone. `--hostname` can't stand without its namespace. */
export const weaknesses = {
  "--unshare-user": { removed: [drop("--unshare-user")] },
  "--unshare-ipc": { removed: [drop("--unshare-ipc")] },
  "--unshare-pid": { removed: [drop("--unshare-pid")] },
  "--unshare-net": { removed: [drop("--unshare-net")] },
  "--unshare-uts": { removed: [drop("--unshare-uts"), drop("--hostname", 1)] },
  "--unshare-cgroup": { removed: [drop("--unshare-cgroup")] },
  "--disable-userns": { removed: [drop("--disable-userns")] },
  "--uid": { removed: [drop("--uid", 1)] },
  "--gid": { removed: [drop("--gid", 1)] },
  "--cap-drop": { removed: [drop("--cap-drop", 1)] },
  "--clearenv": { removed: [drop("--clearenv")] },
  "--ro-bind /usr": writable("/usr"),
  "--ro-bind /etc/passwd": writable("/etc/passwd"),
  "--ro-bind /etc/group": writable("/etc/group"),
  "--ro-bind /etc/hosts": writable("/etc/hosts"),
  "--ro-bind /etc/resolv.conf": writable("/etc/resolv.conf"),
  "--ro-bind /opt/tools": writable("/opt/tools"),
  "--ro-bind /opt/command": writable("/opt/command"),
  "--remount-ro /proc": { removed: [drop("--remount-ro", 1, "/proc")] },
  "--remount-ro /dev": { removed: [drop("--remount-ro", 1, "/dev")] },
  "--remount-ro /": { removed: [drop("--remount-ro", 1, "/")] },
  "--seccomp": { removed: [drop("--seccomp", 1)] },
} as const satisfies Record<string, Weakness>;

/** Several at once, for what two barriers guard. */
export const together = (...some: readonly Weakness[]): Weakness => ({
  removed: some.flatMap(({ removed }) => removed),
  added: some.flatMap(({ added = [] }) => added),
  environment: Object.assign({}, ...some.map(({ environment }) => environment)),
});
