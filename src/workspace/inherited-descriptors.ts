import { readdirSync, readFileSync } from "node:fs";

const closeOnExec = 0o2000000;

/**
 * Descriptors that whoever started this process left open in it. Node closes its own in every child, but passes these on;
 * none may reach a sandbox (SEC-46).
 */
export function inheritedDescriptors(): readonly number[] {
  return readdirSync("/proc/self/fdinfo").flatMap((name) => {
    try {
      const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, "latin1"))?.[1] ?? "0";
      const isPassedOn = Number(name) > 2 && (Number.parseInt(flags, 8) & closeOnExec) === 0;
      return isPassedOn ? [Number(name)] : [];
    } catch {
      return []; // the descriptor of this very listing
    }
  });
}
