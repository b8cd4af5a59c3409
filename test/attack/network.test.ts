import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RawCall, rawCall } from "../../src/workspace/index.ts";
import { aHome, type TestHome } from "../support/checkout.ts";
import { type AttackRoom, openAttackRoom } from "./in-sandbox.ts";
import { callsOnHost, listeners } from "./on-host.ts";
import { together, weaknesses } from "./weak-bubblewrap.ts";

let home: TestHome;
let waiting: Awaited<ReturnType<typeof listeners>>;
let whole: AttackRoom;
/** On the host's network, as a control. */
let open: AttackRoom;

beforeAll(async () => {
  home = aHome();
  waiting = await listeners(home);
  whole = await openAttackRoom(home);
  open = await openAttackRoom(home, { weakness: weaknesses["--unshare-net"] });
});

afterAll(async () => {
  await open[Symbol.asyncDispose]();
  await whole[Symbol.asyncDispose]();
  await waiting[Symbol.asyncDispose]();
  home.dispose();
});

/** A question for `countersign-test.invalid` (RFC 1035, section 4.1). */
const question =
  "\\x12\\x34\\x01\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x10countersign-test\\x07invalid\\x00\\x00\\x01\\x00\\x01";
/** One character of the answer: what a program leaves of a datagram is lost. */
const speak = (protocol: "tcp" | "udp", port: number, words: string): string =>
  `exec 9<>/dev/${protocol}/127.0.0.1/${port} && printf '${words}' >&9 && read -r -n 1 -t 20 -u 9 && echo got`;
const connect = (address: string): readonly RawCall[] => {
  const bytes = Buffer.from(`\x01\0${address}`, "latin1"); // struct sockaddr_un
  return [rawCall("socket", 1, 1, 0), rawCall("connect", { kind: "result", of: 0 }, bytes, bytes.length)];
};
const vsock = rawCall("socket", 40, 1, 0);

describe("from inside (AT-22)", () => {
  it.each([
    ["tcp", () => speak("tcp", waiting.tcpPort, "x")],
    ["udp", () => speak("udp", waiting.udpPort, "x")],
    ["dns", () => speak("udp", waiting.udpPort, question)],
  ] as const)("%s reaches nobody; in a control on the host's network it does", async (kind, script) => {
    waiting.heard.length = 0;

    expect((await whole.shell(script())).text).not.toContain("got");
    expect(waiting.heard).toEqual([]);
    expect((await open.shell(script())).text).toContain("got");
    expect(waiting.heard).toEqual([kind]);
  });

  it("an abstract socket reaches nobody; in a control on the host's network it does", async () => {
    waiting.heard.length = 0;

    expect((await whole.calls(...connect(`\0${waiting.abstractName}`))).results?.at(-1)).toBeLessThan(0);
    expect(waiting.heard).toEqual([]);
    expect((await open.calls(...connect(`\0${waiting.abstractName}`))).results?.at(-1)).toBe(0);
    await expect.poll(() => waiting.heard).toEqual(["abstract"]);
  });

  it("a socket of the host's files is not there, whatever the network; in a control that binds its folder it answers", async () => {
    waiting.heard.length = 0;
    const bound = { removed: [], added: ["--ro-bind", home.folder, home.folder] };
    await using careless = await openAttackRoom(home, { weakness: bound });
    const attempt = connect(`${waiting.socketPath}\0`);

    expect((await open.calls(...attempt)).results?.at(-1)).toBeLessThan(0);
    expect(waiting.heard).toEqual([]);
    expect((await careless.calls(...attempt)).results?.at(-1)).toBe(0);
    await expect.poll(() => waiting.heard).toEqual(["path"]);
  });

  it("no vsock can be made, by the filter alone; in a control without it one can", async (context) => {
    const noFilter = together(weaknesses["--seccomp"]);
    await using unfiltered = await openAttackRoom(home, { weakness: noFilter, without: ["seccomp"] });

    expect((await whole.calls(vsock)).results).toEqual([-1]);
    expect((await open.calls(vsock)).results).toEqual([-1]);
    if ((callsOnHost(home, vsock)[0] ?? -1) < 0) return context.skip("not run: a kernel without AF_VSOCK");
    expect((await unfiltered.calls(vsock)).results?.[0]).toBeGreaterThanOrEqual(0);
  });

  it("no name is resolved and no device leads out", async () => {
    const { text } = await whole.shell(
      `cat /etc/resolv.conf; tail -n +3 /proc/net/dev | cut -d: -f1; (exec 9<>/dev/tcp/countersign-test.example/443) 2>/dev/null && echo out`,
    );

    expect(text.trim()).toBe("lo");
  });
});
