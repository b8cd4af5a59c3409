import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { aHome, type TestHome } from "../support/checkout.ts";
import { guard, openAttackRoom, type Precondition, refusedStatus } from "./in-sandbox.ts";
import { weaknesses } from "./weak-bubblewrap.ts";

let home: TestHome;

beforeAll(() => {
  home = aHome();
});

afterAll(() => home.dispose());

/** On the host, where no probe may ever get further than its guard. */
function outside(without: readonly Precondition[]) {
  const script = `${guard({ file: "/opt/nonce/nonce", value: "0".repeat(32) }, without)}echo started`;
  return spawnSync("/bin/bash", ["--norc", "--noprofile", "-c", script], { encoding: "utf8", env: {} });
}

describe("a probe (SEC-131)", () => {
  it("refuses to start outside a sandbox", () => {
    expect(outside([])).toMatchObject({
      status: refusedStatus,
      stdout: expect.stringMatching(/^probe refused: \w+\n$/),
    });
  });

  it.each<Precondition>(["no_new_privileges", "no_capabilities", "seccomp"])(
    "refuses outside even where only %s and the nonce are asked for",
    (kept) => {
      const others = (["not_root", "no_new_privileges", "no_capabilities", "seccomp"] as const).filter(
        (one) => one !== kept,
      );

      expect(outside(others)).toMatchObject({ status: refusedStatus, stdout: expect.not.stringContaining("started") });
    },
  );

  it("refuses without the nonce file of its test, whatever else holds", () => {
    const all = ["not_root", "no_new_privileges", "no_capabilities", "seccomp"] as const;

    expect(outside(all)).toMatchObject({ status: refusedStatus, stdout: "probe refused: nonce\n" });
  });

  it("starts in the sandbox, where every precondition holds", async () => {
    await using room = await openAttackRoom(home);

    expect(await room.shell("echo started")).toEqual({ exitCode: 0, text: "started\n" });
  });

  it("refuses in a sandbox without the filter, unless the control says so", async () => {
    await using unannounced = await openAttackRoom(home, { weakness: weaknesses["--seccomp"] });
    await using announced = await openAttackRoom(home, { weakness: weaknesses["--seccomp"], without: ["seccomp"] });

    await expect(unannounced.shell("echo started")).rejects.toThrow("probe refused: seccomp");
    expect(await announced.shell("echo started")).toEqual({ exitCode: 0, text: "started\n" });
  });
});
