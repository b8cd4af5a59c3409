import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { loadOperatorSettings, parseOperatorSettings } from "../../src/policy/index.ts";

const defaultsBesides = {
  ...{ memoryBytes: 4_294_967_296, processes: 512, fileBytes: 1_073_741_824, openFiles: 4_096 },
  ...{ workBytes: 2_147_483_648, workInodes: 400_000, outputBytes: 268_435_456, runOutputBytes: 2_147_483_648 },
};

describe("`operator.json` (AUD-90)", () => {
  it("overrides what it names and leaves the rest", () => {
    const settings = parseOperatorSettings(
      JSON.stringify({
        failure_policy: "shutdown",
        approvals: { expire_after_minutes: 5 },
        limits: { turns: 7 },
        sandbox: { read_only_binds: ["/opt/go"], path: ["/opt/go/bin"], environment: { GOFLAGS: "-mod=vendor" } },
        setup: { hosts: ["packages.example"], internal_host: { host: "packages.example", addresses: "fd00:1::/32" } },
        webhook: { body_bytes: 2097152 },
        allowed_bots: [49699333],
        permitted_forks: [17],
        caps: {
          runs_per_issue: { hour: 2 },
          tokens_per_day: 5_000_000,
          failures_per_repository: { minutes: 10 },
        },
        model: { context_tokens: 32768, prices: { input: 1, output: 4 } },
      }),
      "operator.json",
    );

    expect(settings).toMatchObject({
      failurePolicy: { SAFE: "shutdown", RESTRICTED: "shutdown", DANGEROUS: "shutdown" },
      setup: {
        timeoutMs: 600_000,
        network: "none",
        hosts: ["packages.example"],
        internalHost: { host: "packages.example", addresses: "fd00:1::/32" },
        bytes: 2_147_483_648,
        installScripts: false,
      },
      webhook: { bodyBytes: 2_097_152 },
      allowedBots: [49_699_333],
      permittedForks: [17],
      caps: {
        runsPerIssue: { hour: 2, day: 20 },
        runsPerRepository: { hour: 30, day: 200 },
        runsPerSender: { hour: 30, day: 200 },
        tokensPerDay: 5_000_000,
        failuresPerRepository: { inARow: 5, minutes: 10 },
      },
      approvals: { expireAfterMinutes: 5 },
      limits: { turns: 7, minutes: 60 },
      sandbox: {
        readOnlyBinds: ["/opt/go"],
        path: ["/opt/go/bin"],
        environment: { GOFLAGS: "-mod=vendor" },
        network: "none",
      },
      model: { contextTokens: 32768, pricesUsdPerMillion: { input: 1, output: 4, cachedInput: 1, cacheWrite: 1 } },
    });
  });

  it("tells the limits of the sandbox with their units (SEC-53 to SEC-57)", () => {
    const text = '{"sandbox":{"rung":"cgroup_v1","cgroup":"/sys/fs/cgroup/a.slice","idle_s":7,"cpus":0.5}}';

    expect(parseOperatorSettings(text, "operator.json").sandbox).toMatchObject({
      ...{ rung: "cgroup_v1", cgroupFolder: "/sys/fs/cgroup/a.slice", idleMs: 7_000, cpus: 0.5 },
      ...defaultsBesides,
    });
    expect(parseOperatorSettings("{}", "operator.json").sandbox).toMatchObject({
      ...{ rung: "prlimit", cgroupFolder: null, idleMs: 300_000, cpus: null },
      ...defaultsBesides,
    });
  });

  it.each([
    ["an unknown key", '{"failure":1}', "unknown key `failure`"],
    ["an unknown key further in", '{"limits":{"turn":1}}', "unknown key `limits.turn`"],
    ["a wrong type", '{"limits":{"turns":"100"}}', '`limits.turns` is "100", expected a number'],
    ["a fraction", '{"limits":{"turns":1.5}}', "`limits.turns` is 1.5, expected a whole number"],
    ["a number that is too small", '{"approvals":{"expire_after_minutes":4}}', "is 4, expected at least 5"],
    ["a number that is too large", '{"approvals":{"expire_after_minutes":10081}}', "is 10081, expected at most 10080"],
    ["a word that is none of the choices", '{"failure_policy":"ignore"}', "expected `fail_operation` or `shutdown`"],
    ["a setup host with a scheme", '{"setup":{"hosts":["https://a.example"]}}', "expected a host name in lower case"],
    ["a setup host with a port", '{"setup":{"hosts":["a.example:443"]}}', "expected a host name in lower case"],
    ["a setup host that is an address", '{"setup":{"hosts":["10.0.0.1"]}}', "expected a host name in lower case"],
    [
      "a range of addresses that is none",
      '{"setup":{"internal_host":{"host":"a.example","addresses":"10.0.0.0/33"}}}',
      "expected a range of addresses such as `10.20.0.0/16`",
    ],
    ["a network for the sandbox", '{"sandbox":{"network":"host"}}', "expected `none`"],
    ["a body that GitHub never sends", '{"webhook":{"body_bytes":30000000}}', "expected at most 26214400"],
    ["a bot by its name", '{"allowed_bots":["renovate[bot]"]}', "`allowed_bots.0`"],
    [
      "a cap of nothing",
      '{"caps":{"runs_per_sender":{"hour":0}}}',
      "`caps.runs_per_sender.hour` is 0, expected at least 1",
    ],
    ["a rung that there is not", '{"sandbox":{"rung":"cgroup"}}', "expected `cgroup_v2` or `cgroup_v1` or `prlimit`"],
    ["a group by a detour", '{"sandbox":{"cgroup":"/sys/fs/cgroup/../x"}}', "`sandbox.cgroup`"],
    ["a home as a bind", '{"sandbox":{"read_only_binds":["/home/ada"]}}', "`sandbox.read_only_binds.0`"],
    ["the whole system as a bind", '{"sandbox":{"read_only_binds":["/"]}}', "`sandbox.read_only_binds.0`"],
    ["a bind by a detour", '{"sandbox":{"read_only_binds":["/opt/../root"]}}', "`sandbox.read_only_binds.0`"],
    ["a secret's name", '{"sandbox":{"environment":{"NPM_TOKEN":"x"}}}', "`sandbox.environment.NPM_TOKEN`"],
    ["a value of two lines", '{"sandbox":{"environment":{"A":"x\\ny"}}}', "expected one line"],
    ["a key that stands twice", '{"limits":{"turns":1,"turns":2}}', "line 1, column 22"],
    ["no JSON", "limits:\n  turns: 1", "no JSON"],
    ["no object", "[]", "the file is [], expected an object"],
    ["nothing", "", "no JSON"],
  ])("with %s stops the start", (_case, text, says) => {
    expect(() => parseOperatorSettings(text, "some/operator.json")).toThrowError(
      expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringContaining(says) }),
    );
    expect(() => parseOperatorSettings(text, "some/operator.json")).toThrow("`some/operator.json`");
  });

  it("that is missing stops the start", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "countersign-operator-"));

    await expect(loadOperatorSettings(folder)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(path.join(folder, "operator.json")),
    });

    await rm(folder, { recursive: true });
  });
});
