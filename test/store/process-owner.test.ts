import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ownerState, processOwner } from "../../src/store/index.ts";

const room = join(import.meta.dirname, "../../src/store/index.ts");

/** What a process of another container of this machine says: its own pids, the same boot. */
function inContainer(expression: string): string {
  const program = `const { ownerState, processOwner } = await import(${JSON.stringify(room)}); console.log(${expression});`;
  const bubblewrap = ["--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--dev", "/dev"];
  const argv = [...bubblewrap, process.execPath, "--input-type=module", "--eval", program];
  return execFileSync("bwrap", argv, { encoding: "utf8" }).trim();
}

it("knows a process of its own, and one that is gone", () => {
  const owner = processOwner();

  expect(ownerState(owner)).toBe("alive");
  expect(ownerState(owner.replace(/:\d+$/, ":1"))).toBe("dead");
});

it("takes no process for dead whose pid counts elsewhere", () => {
  expect(ownerState(`another-boot:${process.pid}:1`)).toBe("elsewhere");
  expect(inContainer(`ownerState(${JSON.stringify(processOwner())})`)).toBe("elsewhere");
  expect(ownerState(inContainer("processOwner()"))).toBe("elsewhere");
});
