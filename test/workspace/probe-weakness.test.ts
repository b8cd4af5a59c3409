import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { probeSandbox, requireConfinement } from "../../src/workspace/index.ts";
import { searchPathWithWeakBubblewrap, together, type Weakness, weaknesses } from "../attack/weak-bubblewrap.ts";
import { aConfinement, aHome, never, noTools, type TestHome, testRunUids } from "../support/checkout.ts";

let home: TestHome;

beforeAll(() => {
  home = aHome();
});

afterAll(() => home.dispose());

const options = () => ({
  ...{ runUids: testRunUids, toolsFolder: noTools(home), toolchains: [], environment: {} },
  confinement: aConfinement(home),
});

/** The names of the barriers that `doctor --sandbox` finds broken. */
async function broken(weakness: Weakness): Promise<readonly string[]> {
  const deps = { ...home.deps, searchPath: searchPathWithWeakBubblewrap(home.folder, weakness) };
  const checks = await probeSandbox(deps, { ...options(), part: "confinement" }, never);
  const failing = checks.filter(({ ok }) => !ok);
  expect(failing.every(({ remedy }) => remedy !== "")).toBe(true);
  return failing.map(({ name }) => name).sort();
}

/** Whose id is 1000 outside too loses nothing by showing it. */
const ownIds = process.geteuid?.() === 1000 ? [] : ["user_id"];
/** Not file handles: capabilities guard them too. */
const byTheFilter = [
  ...["clock", "foreign_calls", "io_uring", "kernel_interfaces", "key_rings", "mount", "nested_namespaces"],
  ...["ptrace", "seccomp", "socket_families", "terminal_injection", "vsock"],
];
/** Where bubblewrap drops capabilities by itself, the control adds them; where the service hands on nothing, it is careless. */
const capable: Weakness = { removed: [{ flag: "--cap-drop", operands: 1, instead: "--cap-add" }] };
const careless: Weakness = { removed: [], environment: { COUNTERSIGN_PLANTED: "seen" } };

const expected: Readonly<Record<keyof typeof weaknesses, readonly [Weakness, readonly string[]]>> = {
  "--unshare-user": [weaknesses["--unshare-user"], ["sandbox"]], // `--disable-userns` asks for it: none comes to be
  "--unshare-ipc": [weaknesses["--unshare-ipc"], ["ipc_namespace"]],
  "--unshare-pid": [weaknesses["--unshare-pid"], ["host_processes", "pid_namespace"]],
  "--unshare-net": [weaknesses["--unshare-net"], ["abstract_socket", "net_namespace", "network_devices", "tcp", "udp"]],
  "--unshare-uts": [weaknesses["--unshare-uts"], ["host_name", "uts_namespace"]],
  "--unshare-cgroup": [weaknesses["--unshare-cgroup"], ["cgroup_namespace"]],
  "--disable-userns": [weaknesses["--disable-userns"], ["nested_namespaces_without_filter"]],
  "--uid": [weaknesses["--uid"], ownIds],
  "--gid": [weaknesses["--gid"], ownIds],
  "--cap-drop": [capable, ["capabilities"]],
  "--clearenv": [together(careless, weaknesses["--clearenv"]), ["environment"]],
  "--ro-bind /usr": [weaknesses["--ro-bind /usr"], ["read_only_places"]],
  "--ro-bind /etc/passwd": [weaknesses["--ro-bind /etc/passwd"], ["read_only_places"]],
  "--ro-bind /etc/group": [weaknesses["--ro-bind /etc/group"], ["read_only_places"]],
  "--ro-bind /etc/hosts": [weaknesses["--ro-bind /etc/hosts"], ["read_only_places"]],
  "--ro-bind /etc/resolv.conf": [weaknesses["--ro-bind /etc/resolv.conf"], ["read_only_places"]],
  "--ro-bind /opt/tools": [weaknesses["--ro-bind /opt/tools"], ["read_only_places"]],
  "--ro-bind /opt/command": [weaknesses["--ro-bind /opt/command"], ["read_only_places"]],
  "--remount-ro /proc": [weaknesses["--remount-ro /proc"], ["read_only_places"]],
  "--remount-ro /dev": [weaknesses["--remount-ro /dev"], ["read_only_places"]],
  "--remount-ro /": [weaknesses["--remount-ro /"], ["read_only_places"]],
  "--seccomp": [weaknesses["--seccomp"], byTheFilter],
};

describe("doctor --sandbox (SEC-60, SEC-133)", () => {
  it.each(Object.entries(expected))(
    "without %s names the barrier that is gone, and no other",
    async (_flag, [weakness, names]) => {
      expect(await broken(weakness)).toEqual([...names].sort());
    },
  );

  it("finds nothing broken in a bubblewrap that is started as it should be", async () => {
    expect(await broken({ removed: [] })).toEqual([]);
  });
});

describe("a worker's start (SEC-59, SEC-60)", () => {
  it("goes on where every barrier holds", async () => {
    await expect(requireConfinement(home.deps, options(), never)).resolves.toBeUndefined();
  });

  it("is refused by the name of a barrier that does not, with what to do", async () => {
    const searchPath = searchPathWithWeakBubblewrap(home.folder, weaknesses["--unshare-ipc"]);

    await expect(requireConfinement({ ...home.deps, searchPath }, options(), never)).rejects.toMatchObject({
      code: "SANDBOX_FAILED",
      message: "the barrier `ipc_namespace` does not hold",
      remedy: expect.stringContaining("allow bwrap to make namespaces"),
    });
  });
});
