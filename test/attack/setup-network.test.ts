import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { shell } from "../support/checkout.ts";
import { registryHost } from "../support/local-registry.ts";
import { namesOfNobody, openSetupPlace, type SetupPlace, setUp } from "../support/setup-phase.ts";

let place: SetupPlace;

beforeAll(async () => {
  place = await openSetupPlace();
});

afterAll(() => place[Symbol.asyncDispose]());

/** Asks the bridge for a connection to each target, inside, and prints what it is told. */
const probe = (targets: readonly string[]): string => `cat > /tmp/probe.mjs <<'END'
import { connect } from "node:net";
for (const target of process.argv.slice(2)) {
  const answer = await new Promise((resolve) => {
    const socket = connect(3128, "127.0.0.1", () => socket.write("CONNECT " + target + " HTTP/1.1\\r\\n\\r\\n"));
    socket.on("data", (chunk) => { resolve(chunk.toString().split(" ")[1]); socket.destroy(); });
    socket.on("error", (error) => resolve(error.code));
    socket.on("close", () => resolve("closed"));
  });
  console.log(target + " " + answer);
}
END
node /tmp/probe.mjs ${targets.join(" ")}`;

describe("setup's network and scripts (AT-26, SEC-66, SEC-67)", () => {
  const targets = {
    [`${registryHost}:443`]: "200",
    "elsewhere.test:443": "403",
    "127.0.0.1:443": "403",
    "[::1]:443": "403",
    "loopback.test:443": "403",
    "metadata.test:443": "403",
    [`${registryHost}:80`]: "403",
  };

  it("leads from inside to the listed host alone, and every host that was asked for is on record", async () => {
    const reach = place.registry.reach(namesOfNobody);
    await using workspace = await place.project(place.network(reach));

    const { text, hosts, asked } = await setUp(workspace, probe(Object.keys(targets)));

    const expected = Object.entries(targets).map(([target, status]) => `${target} ${status}\n`);
    expect(text).toBe(expected.join(""));
    expect(hosts).toEqual([registryHost, ...Object.keys(namesOfNobody)]);
    expect(asked).toEqual([
      { host: registryHost, outcome: "no_hello", count: 1 },
      { host: "elsewhere.test", outcome: "not_listed", count: 1 },
      { host: "127.0.0.1", outcome: "ip_literal", count: 1 },
      { host: "[::1]", outcome: "ip_literal", count: 1 },
      { host: "loopback.test", outcome: "not_public", count: 1 },
      { host: "metadata.test", outcome: "not_public", count: 1 },
      { host: registryHost, outcome: "not_port_443", count: 1 },
    ]);
    expect(reach.log.filter((line) => line.startsWith("dial"))).toEqual(["dial 127.0.0.1:443"]);
  });

  it("is gone in every later command: no socket, no bridge, no variable", async () => {
    await using workspace = await place.project(place.network());
    const during = await setUp(workspace, "ls /opt/network; env | grep -ci proxy");
    const look = `ls /opt/network; env | grep -i -e proxy -e npm -e pip; find / -xdev -type s 2>/dev/null; ${probe([`${registryHost}:443`])}`;

    const after = await shell(workspace, look);

    expect(during.text).toBe("bridge.mjs\ncertificates.pem\nproxy\n2\n");
    expect(after.text).toMatch(/^ls: .*\/opt\/network.*\nregistry\.test:443 ECONNREFUSED\n$/);
  });

  it("runs no script of a package or of the project, whatever their own settings say (AT-27, SEC-70)", async () => {
    await using workspace = await place.project(place.network(), { files: { ".npmrc": "ignore-scripts=false\n" } });

    const { result, text } = await setUp(workspace, "npm ci && ls");

    expect(result.exitCode, text).toBe(0);
    expect(text).toMatch(/\nnode_modules\npackage-lock\.json\npackage\.json\ntest\.cjs\n$/);
  });
});
