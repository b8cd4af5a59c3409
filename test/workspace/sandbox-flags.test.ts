import { describe, expect, it } from "vitest";
import { sandboxFlags, searchPathInside } from "../../src/workspace/sandbox-flags.ts";

const layout = {
  generatedFolder: "/gen",
  toolsFolder: "/tools",
  toolchains: [],
  workFolder: "/work",
  environment: {},
  seccompDescriptor: null,
};

/** SEC-43 word for word; in brackets what ACI-54 and ACI-55 add. */
const fixed = (added: string): string =>
  `--unshare-user --unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup --disable-userns
 --uid 1000 --gid 1000 --hostname sandbox --die-with-parent --new-session --cap-drop ALL --clearenv
 --setenv PATH /opt/tools/bin:/usr/local/bin:/usr/bin:/bin --setenv HOME /home/agent --setenv TMPDIR /tmp --setenv LANG C.UTF-8 --setenv CI 1
 --setenv TERM dumb --setenv NO_COLOR 1 --setenv PAGER cat --setenv GIT_PAGER cat --setenv GIT_TERMINAL_PROMPT 0 --setenv GIT_EDITOR false
 --setenv GIT_SEQUENCE_EDITOR false --setenv DEBIAN_FRONTEND noninteractive --setenv TZ UTC --setenv PYTHONDONTWRITEBYTECODE 1
 --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/sbin /sbin --symlink usr/lib /lib --symlink usr/lib64 /lib64
 --dir /etc --ro-bind-try /etc/ld.so.cache /etc/ld.so.cache --ro-bind-try /etc/alternatives /etc/alternatives
 --ro-bind-try /etc/ssl/certs /etc/ssl/certs --ro-bind /gen/passwd /etc/passwd --ro-bind /gen/group /etc/group
 --ro-bind /gen/hosts /etc/hosts --ro-bind /gen/empty /etc/resolv.conf --ro-bind /tools /opt/tools
 --ro-bind /gen/command /opt/command
 --proc /proc --dev /dev --size 67108864 --tmpfs /dev/shm --size 268435456 --tmpfs /tmp --size 268435456 --tmpfs /home/agent
 --bind /work /workspace --chdir /workspace --remount-ro /proc --remount-ro /dev --remount-ro /${added} -- bash script`;

describe("sandboxFlags", () => {
  it("builds exactly the arguments of the design, in their order", () => {
    const flags = sandboxFlags(layout, ["bash", "script"]);

    expect(flags).toEqual(fixed("").split(/\s+/));
  });

  it("names the descriptor of a filter last before the command", () => {
    const flags = sandboxFlags({ ...layout, seccompDescriptor: 4 }, ["bash", "script"]);

    expect(flags).toEqual(fixed(" --seccomp 4").split(/\s+/));
  });

  it("binds the way out for setup alone, read-only and before anything is remounted (SEC-66)", () => {
    const setup = sandboxFlags({ ...layout, networkFolder: "/run/net" }, ["bash", "script"]);

    const added = "--ro-bind /gen/command /opt/command --ro-bind /run/net /opt/network";
    expect(setup.join(" ")).toBe(
      sandboxFlags(layout, ["bash", "script"]).join(" ").replace("--ro-bind /gen/command /opt/command", added),
    );
  });

  it("binds toolchains read-only under /opt and looks in them before the system's folders", () => {
    const toolchains = [
      { name: "go", folder: "/usr/lib/go", addToPath: true },
      { name: "data", folder: "/srv/data", addToPath: false },
    ];

    const flags = sandboxFlags({ ...layout, toolchains }, ["true"]).join(" ");

    expect(flags).toContain("--ro-bind /tools /opt/tools --ro-bind /usr/lib/go /opt/go --ro-bind /srv/data /opt/data");
    expect(searchPathInside(toolchains)).toEqual([
      "/opt/tools/bin",
      "/opt/go/bin",
      "/usr/local/bin",
      "/usr/bin",
      "/bin",
    ]);
    expect(flags).toContain("--setenv PATH /opt/tools/bin:/opt/go/bin:/usr/local/bin:/usr/bin:/bin");
  });
});
