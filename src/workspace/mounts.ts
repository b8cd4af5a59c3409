import { readFileSync, realpathSync } from "node:fs";
import { CountersignError } from "../domain/index.ts";
import { isRoot, type WorkspaceDeps } from "./host.ts";
import { runByShell } from "./program-shell.ts";

/** Bit 21 (capability.h). */
const capSysAdmin = 1n << 21n;

/** What this process may mount. `mount` itself insists on root; in a user namespace overlayfs can't keep its marks. */
export function mountableHere(): { readonly tmpfs: boolean; readonly overlay: boolean } {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "latin1"))?.[1] ?? "0";
  const tmpfs = isRoot() && (BigInt(`0x${effective}`) & capSysAdmin) !== 0n;
  return { tmpfs, overlay: tmpfs && /^\s*0\s+0\s+4294967295\s*$/.test(readFileSync("/proc/self/uid_map", "latin1")) };
}

const safeFlags = "nosuid,nodev";

/** Bounded memory as a file system; whatever is mounted below it stays in this mount namespace. */
export type TmpfsLimits = { readonly bytes: number; readonly inodes: number };

/** The mounts of one run, taken off again in the order opposite to that in which they were made. Paths are absolute. */
export class Mounts {
  readonly #deps: WorkspaceDeps;
  readonly #points: string[] = [];

  constructor(deps: WorkspaceDeps) {
    this.#deps = deps;
  }

  /** Mounts made below `folder` reach no other mount namespace. Only where they would (mount_namespaces(7)). */
  async keepPrivate(folder: string): Promise<string | null> {
    if (!isShared(folder)) return null;
    return (await this.#mount(folder, ["--bind", folder])) ?? (await this.#run("mount", ["--make-private", folder]));
  }

  /** Answers why it could not be mounted, or null. */
  tmpfs(point: string, { bytes, inodes }: TmpfsLimits): Promise<string | null> {
    const options = `${safeFlags},size=${bytes},nr_inodes=${inodes},mode=0711`;
    return this.#mount(point, ["-t", "tmpfs", "-o", options, "tmpfs"]);
  }

  /**
   * `layers` are relative to home, whose own path may hold the signs that divide options. Renaming a folder of the base fails
   * (EXDEV, so that programs copy), and a file is in the upper folder with all its bytes or not at all: so the upper folder
   * alone tells the change.
   */
  overlay(
    point: string,
    layers: { readonly lower: string; readonly upper: string; readonly work: string },
  ): Promise<string | null> {
    const folders = `lowerdir=${layers.lower},upperdir=${layers.upper},workdir=${layers.work}`;
    const plain = "redirect_dir=nofollow,metacopy=off,index=off,xino=off";
    return this.#mount(point, ["-t", "overlay", "-o", `${safeFlags},${folders},${plain}`, "overlay"]);
  }

  async #mount(point: string, what: readonly string[]): Promise<string | null> {
    const cause = await this.#run("mount", ["-n", ...what, point]);
    if (cause === null) this.#points.push(point);
    return cause;
  }

  /** Takes all mounts off. One that is still in use goes from the tree of folders at once, and for good with its last user. */
  async unmountAll(): Promise<void> {
    const points = this.#points.splice(0).reverse();
    if (points.length === 0 || (await this.#run("umount", ["-n", ...points])) === null) return;
    const causes = await Promise.all(
      points.filter(isMountPoint).map((point) => this.#run("umount", ["-n", "-l", point])),
    );
    const cause = causes.find((one) => one !== null);
    if (cause === undefined) return;
    throw new CountersignError("WORKSPACE_POISONED", `the work folder could not be unmounted: ${cause}`);
  }

  #run(name: "mount" | "umount", argv: readonly string[]): Promise<string | null> {
    return runByShell(this.#deps, { name, argv, folder: this.#deps.home });
  }
}

/** A line of `/proc/self/mountinfo` (proc_pid_mountinfo(5)). */
type MountLine = { readonly point: string; readonly isShared: boolean };

function mountLines(): readonly MountLine[] {
  const unescaped = (text: string): string =>
    text.replace(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8)));
  const lines = readFileSync("/proc/self/mountinfo", "latin1").trimEnd().split("\n");
  return lines.map((line) => {
    const fields = line.split(" ");
    const point = Buffer.from(unescaped(fields[4] ?? ""), "latin1").toString("utf8");
    return { point, isShared: fields.slice(6, fields.indexOf("-")).some((field) => field.startsWith("shared:")) };
  });
}

const isMountPoint = (path: string): boolean => mountLines().some(({ point }) => point === realpathSync(path));

/** Whether a mount made in the folder would show in other mount namespaces too. */
function isShared(folder: string): boolean {
  const place = realpathSync(folder);
  const holds = ({ point }: MountLine): boolean =>
    place === point || place.startsWith(point === "/" ? "/" : `${point}/`);
  const holding = mountLines().filter(holds);
  const longest = Math.max(...holding.map(({ point }) => point.length));
  return holding.findLast(({ point }) => point.length === longest)?.isShared ?? true;
}
