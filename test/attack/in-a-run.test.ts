import { randomBytes } from "node:crypto";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { rawCall, systemCallProgram } from "../../src/workspace/index.ts";
import { type Countersign, type Ended, openCountersign } from "../support/countersign.ts";
import type { ModelServer } from "../support/model-server.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../support/otlp-receiver.ts";
import { call, finish, startPlannedModel } from "../support/planned-model.ts";
import { RunReport, readJson, Verified } from "../support/run-report.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";
import { guard } from "./in-sandbox.ts";
import { hostSetting, listeners } from "./on-host.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

/** Made here, so that no file of the repository holds one. */
const planted = {
  modelKey: randomBytes(16).toString("hex"),
  configuration: randomBytes(16).toString("hex"),
};
let countersign: Countersign;
let model: ModelServer;
let receiver: OtlpReceiver;
let waiting: Awaited<ReturnType<typeof listeners>>;
let ended: Ended;
const corePattern = hostSetting("kernel/core_pattern");

/** The calls to make, as a program in text. */
function callsInText(): string {
  const abstract = Buffer.from(`\x01\0\0${waiting.abstractName}`, "latin1");
  const text = (characters: string): Uint8Array => Buffer.from(`${characters}\0`, "latin1");
  const program = systemCallProgram([
    rawCall("socket", 1, 1, 0),
    rawCall("connect", { kind: "result", of: 0 }, abstract, abstract.length),
    rawCall("socket", 40, 1, 0),
    rawCall("ptrace", 0, 0, 0, 0),
    rawCall("mount", text("none"), text("/tmp"), text("tmpfs"), 0, 0),
    rawCall("unshare", 0x1000_0000),
  ]);
  return `${Buffer.from(program).toString("base64")}\n`;
}

const attack = (files: readonly string[]): string => `
(exec 9<>/dev/tcp/127.0.0.1/${waiting.tcpPort}) 2>/dev/null && echo got tcp
(exec 9<>/dev/udp/127.0.0.1/${waiting.udpPort} && echo x >&9 && read -r -n 1 -t 20 -u 9) 2>/dev/null && echo got udp
for file in ${files.join(" ")} /root/* /proc/[0-9]*/environ; do tr '\\0' '\\n' <"$file" 2>/dev/null; done
base64 -d calls.txt >/tmp/calls && chmod +x /tmp/calls
echo "calls $(/tmp/calls | od -An -v -t d8 | tr -s ' \\n' ' ')"
(echo countersign >/proc/sys/kernel/core_pattern) 2>/dev/null && echo got core_pattern
echo "names $(env | cut -d= -f1 | sort | tr '\\n' ' ')"
echo attacked
`;

beforeAll(async () => {
  countersign = await openCountersign("shared");
  const { folder, home } = countersign;
  waiting = await listeners({ folder });
  const configuration = join(folder, "service.env");
  writeFileSync(configuration, `KEPT=${planted.configuration}\n`);
  chmodSync(configuration, 0o644);

  // Of this run alone: it lies in the tree that is bound in for it.
  const nonce = { file: "/workspace/nonce.txt", value: randomBytes(16).toString("hex") };
  const command = `${guard(nonce)}${attack([configuration, `${home}/keys/*`])}`;
  model = await startPlannedModel([call("run_command", { command }), finish]);
  receiver = await startOtlpReceiver();
  const repository = await writeTinyRepository(join(folder, "tiny"), {
    "nonce.txt": `${nonce.value}\n`,
    "calls.txt": callsInText(),
  });
  writeFileSync(join(folder, "issue.md"), "# Attack the sandbox\n");
  ended = await countersign.command(["run", "--repo", repository, "--issue", "issue.md", "--json"], {
    ...{ OPENAI_BASE_URL: model.baseUrl, OPENAI_MODEL: "planned", OPENAI_API_KEY: planted.modelKey },
    LOG_LEVEL: "trace",
    ...{ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" },
  });
});

afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
  await waiting[Symbol.asyncDispose]();
  await countersign[Symbol.asyncDispose]();
});

/** What the model was told its command printed. */
function told(): string {
  const messages = model.received.at(-1)?.body["messages"] as readonly { readonly role: string }[] | undefined;
  return JSON.stringify(messages?.filter(({ role }) => role === "tool"));
}

describe("an attack by a command of a real run (AT-22, AT-23, AT-25)", () => {
  it("is carried out whole, and nothing of it gets through", () => {
    expect(told()).toContain("attacked");
    expect(told()).not.toContain("got ");
    expect(told()).not.toContain("probe refused");
    const [, results = ""] = /calls ([-\d ]+)/.exec(told()) ?? [];
    const [socket, connect, vsock, ptrace, mount, unshare] = results.trim().split(" ").map(Number);
    expect(socket).toBeGreaterThanOrEqual(0);
    expect(connect).toBeLessThan(0);
    expect([vsock, ptrace, mount, unshare]).toEqual([-1, -1, -1, -1]);
    expect(hostSetting("kernel/core_pattern")).toBe(corePattern);
  });

  it("sees the listed variables alone", () => {
    const [, names = ""] = /names ([A-Z_ ]+)/.exec(told()) ?? [];

    expect(names.trim()).toBe(
      "CI DEBIAN_FRONTEND GIT_EDITOR GIT_PAGER GIT_SEQUENCE_EDITOR GIT_TERMINAL_PROMPT HOME LANG NO_COLOR PAGER PATH PWD PYTHONDONTWRITEBYTECODE SHLVL TERM TMPDIR TZ _",
    );
  });

  it("makes no request to anyone (SEC-130)", () => {
    expect(waiting.heard).toEqual([]);
  });

  it("brings no planted secret into a request, a span, a log or the command's output (SEC-130)", () => {
    const sent = [
      ...model.received.map(({ body }) => JSON.stringify(body)),
      ...receiver.requests.map(({ body }) => body.toString("latin1")),
      ended.stdout,
      ended.stderr,
    ].join("\n");

    expect(model.received.length).toBeGreaterThan(1);
    expect(receiver.requests.length).toBeGreaterThan(0);
    for (const [name, secret] of Object.entries(planted)) expect(sent, name).not.toContain(secret);
  });

  it("is in a ledger that verifies (SEC-130)", async () => {
    const report = readJson(RunReport, ended);
    const verified = readJson(Verified, await countersign.inProcess(["audit", "verify", "--json"]));

    expect(report.ledger.verified).toBe(true);
    expect(report.actions.find(({ tool }) => tool === "run_command")).toMatchObject({ state: "succeeded" });
    expect(verified).toMatchObject({ ok: true, findings: [] });
  });
});
