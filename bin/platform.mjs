// Shared by the preflight and the command: plain JavaScript that any Node.js since 12 can parse, so that an old one
// can still say what is wrong.
import { existsSync } from "fs";
import { dirname, join } from "path";
import { fileURLToPath } from "url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The exact Node.js that npm brought as an optional dependency. */
export const pinnedNode = join(root, "node_modules", `node-linux-${process.arch}`, "bin", "node");

/** Prints one line and ends with 2, bad usage or configuration. */
export function stop(line) {
  process.stderr.write(`countersign: ${line}\n`);
  process.exit(2);
}

/** Linux on x64 only: anywhere else the sandbox can't be had, and nothing runs without it (SEC-50, SEC-63). */
export function requirePlatform() {
  if (process.platform === "linux" && process.arch === "x64") return;
  stop(
    "got " +
      process.platform +
      " on " +
      process.arch +
      ", needs Linux on x64; in a container: " +
      "docker run --rm -it --security-opt seccomp=unconfined --security-opt apparmor=unconfined " +
      '--security-opt systempaths=unconfined -v "$PWD:/countersign" -w /countersign node:24-bookworm bash',
  );
}

export function requirePinnedNode() {
  if (existsSync(pinnedNode)) return;
  stop("the pinned Node.js is not installed below node_modules; run `npm ci` without `--omit=optional`");
}
