import { readFileSync } from "node:fs";
import { CountersignError } from "../domain/index.ts";

/** An instruction a line, `code jt jf k` in hexadecimal: the fields of `struct sock_filter`. */
const instructionLine = /^([0-9a-f]{4}) ([0-9a-f]{2}) ([0-9a-f]{2}) ([0-9a-f]{8})$/;
const instructionBytes = 8;

/**
 * The compiled filter for `bwrap --seccomp` (SEC-50 to SEC-52), for the architecture of this process. Throws SANDBOX_FAILED
 * where there is no valid one: then no sandbox is started.
 */
export function seccompFilter(arch: string = process.arch): Uint8Array {
  if (arch === "x64") return readFilter(new URL("./seccomp-x64.txt", import.meta.url));
  throw new CountersignError("SANDBOX_FAILED", `there is no system call filter for \`${arch}\``, {
    remedy: "run Countersign on an x64 machine: a filter is offered only where it was run",
  });
}

/** The bytes that the kernel takes. Throws SANDBOX_FAILED for a file that is missing, empty or malformed. */
export function readFilter(file: URL): Uint8Array {
  const refuse = (message: string, cause?: unknown): never => {
    const remedy = "restore the checkout of Countersign: `git status` names what was changed";
    throw new CountersignError("SANDBOX_FAILED", `the system call filter ${message}`, { cause, remedy });
  };
  let text = "";
  try {
    text = readFileSync(file, "latin1");
  } catch (cause) {
    return refuse("can't be read", cause);
  }
  const lines = text.split("\n");
  if (lines.pop() !== "") return refuse("is cut short");
  if (lines.length === 0) return refuse("is empty");
  const filter = Buffer.alloc(lines.length * instructionBytes);
  for (const [at, line] of lines.entries()) {
    const [, code = "", jt = "", jf = "", k = ""] =
      instructionLine.exec(line) ?? refuse(`is malformed in line ${at + 1}`);
    filter.writeUInt16LE(Number.parseInt(code, 16), at * instructionBytes);
    filter.writeUInt8(Number.parseInt(jt, 16), at * instructionBytes + 2);
    filter.writeUInt8(Number.parseInt(jf, 16), at * instructionBytes + 3);
    filter.writeUInt32LE(Number.parseInt(k, 16), at * instructionBytes + 4);
  }
  return filter;
}
