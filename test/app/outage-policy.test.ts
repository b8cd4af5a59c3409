import { tmpdir } from "node:os";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { freeBytes, leastFreeBytes, openOutagePolicy, requireRoomForRun } from "../../src/app/outage-policy.ts";
import { parseOperatorSettings } from "../../src/policy/index.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const open = (settings: object) => openOutagePolicy(parseOperatorSettings(JSON.stringify(settings), "operator.json"));
const byRisk = { failure_policy_by_risk: { dangerous: "shutdown" } };

async function hasEnded({ ended }: ReturnType<typeof open>): Promise<boolean> {
  return (await Promise.race([ended, Promise.resolve(null)])) !== null;
}

describe("an action that can't be recorded (AUD-52)", () => {
  it("ends nothing by default, whatever its risk", async () => {
    using policy = open({});
    for (const risk of ["SAFE", "RESTRICTED", "DANGEROUS"] as const) policy.onUnrecorded(risk);
    vi.advanceTimersByTime(3_600_000);

    expect(policy.isEnding()).toBe(false);
    expect(await hasEnded(policy)).toBe(false);
  });

  it("ends the service where the operator wants it so for its risk: no new work at once, 30 s for what runs", async () => {
    using policy = open(byRisk);
    using _run = policy.atWork();
    policy.onUnrecorded("RESTRICTED");
    expect(policy.isEnding()).toBe(false);

    policy.onUnrecorded("DANGEROUS");
    expect(policy.isEnding()).toBe(true);
    vi.advanceTimersByTime(29_000);
    policy.onUnrecorded("DANGEROUS"); // a second one makes it no longer
    expect(await hasEnded(policy)).toBe(false);
    vi.advanceTimersByTime(1_000);

    expect(await policy.ended).toMatchObject({
      code: "LEDGER_UNAVAILABLE",
      message: expect.stringContaining("DANGEROUS"),
    });
  });

  it("waits for nothing but what is at work: a run that rests or has ended holds the end up no longer", async () => {
    using policy = open(byRisk);
    const runs = [policy.atWork(), policy.atWork()];
    policy.onUnrecorded("DANGEROUS");
    runs[0]?.[Symbol.dispose]();
    runs[0]?.[Symbol.dispose]();
    expect(await hasEnded(policy)).toBe(false);

    runs[1]?.[Symbol.dispose]();

    expect(await hasEnded(policy)).toBe(true);
  });

  it("ends a service with nothing at work at once", async () => {
    using policy = open({ failure_policy: "shutdown" });
    policy.onUnrecorded("SAFE");

    expect(await hasEnded(policy)).toBe(true);
  });

  it("can be let go on by no setting", () => {
    expect(() => open({ failure_policy: "ignore" })).toThrow("expected `fail_operation` or `shutdown`");
    expect(() => open({ failure_policy_by_risk: { safe: "log_only" } })).toThrow("fail_operation");
  });
});

it("256 MiB must be free on the worker's disk (AUD-58)", async () => {
  expect(leastFreeBytes).toBe(268_435_456);
  expect(await freeBytes(tmpdir())).toBeGreaterThan(0);
  await expect(requireRoomForRun(tmpdir())).resolves.toBeUndefined();
  await expect(requireRoomForRun("/proc")).rejects.toMatchObject({ code: "DISK_FULL" }); // has no free bytes at all
});
