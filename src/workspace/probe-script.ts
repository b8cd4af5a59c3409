import { environmentNamesInside } from "./sandbox-flags.ts";

/** A barrier of the sandbox and what its absence points to. */
export type Barrier = { readonly name: string; readonly test: string; readonly remedy: string };

/** What a barrier that does not hold points to. */
export const remedies = {
  bubblewrap: "install the distribution's own bubblewrap, 0.8.0 or newer, and run this again",
  namespaces: "allow bwrap to make namespaces (in a container: run it as docs/install.md says)",
  filter: "restore the checkout of Countersign, and use a kernel with CONFIG_SECCOMP_FILTER",
  limits: "install util-linux, whose `prlimit` sets the limits",
  sockets: "take the folder that holds this socket out of `sandbox.read_only_binds` in operator.json",
  descriptors: "report this: a descriptor of the service reaches the sandbox",
};

/** What the host made for the probe, and what it is itself. */
export type ScriptAims = {
  /** A file that any user could read. */
  readonly canary: string;
  readonly tcpPort: number;
  readonly udpPort: number;
  /** The host's namespaces by kind, as `readlink` shows them. */
  readonly hostNamespaces: Readonly<Record<string, string>>;
  /** The operator's further variables. */
  readonly environment: Readonly<Record<string, string>>;
};

/** Each a link below `/proc/self/ns`. */
export const namespaceKinds = ["user", "ipc", "pid", "net", "uts", "cgroup", "mnt"] as const;

const topFolders = "bin dev etc home lib lib64 opt proc sbin tmp usr workspace";
const devices = "core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero";
/** All else that is mounted is read-only; in `/dev` each device is a mount of its own. */
const writablePlaces = "/workspace|/tmp|/home/agent|/dev/*";

/**
 * Each `test` is bash, run inside: it succeeds where the barrier holds and may print one line of detail. `$canary` and the ports
 * aim at what the host made for this alone, never at the machine's own values.
 */
export const barriers: readonly Barrier[] = [
  ...namespaceKinds.map((kind) => ({
    name: `${kind}_namespace`,
    test: `own=$(readlink /proc/self/ns/${kind}); [ -n "$own" ] && [ "$own" != "$host_${kind}" ]`,
    remedy: remedies.namespaces,
  })),
  { name: "tcp", test: `! (exec 9<>"/dev/tcp/127.0.0.1/$tcp_port")`, remedy: remedies.namespaces },
  {
    name: "udp",
    test: `! (exec 9<>"/dev/udp/127.0.0.1/$udp_port" && printf '?' >&9 && read -r -n 1 -t 5 -u 9)`,
    remedy: remedies.namespaces,
  },
  {
    name: "dns",
    test: `[ ! -s /etc/resolv.conf ] && ! (exec 9<>/dev/udp/countersign.example/53)`,
    remedy: remedies.namespaces,
  },
  {
    name: "network_devices",
    test: `names=$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' \\n'); echo "$names"; [ "$names" = lo ]`,
    remedy: remedies.namespaces,
  },
  {
    name: "host_files",
    test: `seen=$(ls -A / | tr '\\n' ' '); echo "$seen"; [ "$seen" = "${topFolders} " ] && [ ! -e "$canary" ] && [ "$(ls -A /home)" = agent ]`,
    remedy: remedies.bubblewrap,
  },
  {
    name: "host_sockets", // SEC-52: a read-only mount keeps nobody from connecting
    test: `command -v find >/dev/null || return 1; found=$(find /opt /etc -type s -print -quit); echo "$found"; [ -z "$found" ]`,
    remedy: remedies.sockets,
  },
  {
    name: "host_processes",
    test: `set -- /proc/[0-9]*; echo "$# seen"; [ $# -lt 10 ] && [ "$(cat /proc/1/comm)" = bwrap ]`,
    remedy: remedies.namespaces,
  },
  { name: "core_pattern", test: "! (: >/proc/sys/kernel/core_pattern)", remedy: remedies.bubblewrap },
  {
    name: "capabilities",
    test: "[ \"$(grep -cE '^Cap(Inh|Prm|Eff|Bnd|Amb):.0000000000000000$' /proc/self/status)\" = 5 ]",
    remedy: remedies.bubblewrap,
  },
  { name: "no_new_privileges", test: "grep -qE '^NoNewPrivs:.1$' /proc/self/status", remedy: remedies.bubblewrap },
  { name: "seccomp", test: "grep -qE '^Seccomp:.2$' /proc/self/status", remedy: remedies.filter },
  {
    name: "environment",
    test: `names=$(env | cut -d= -f1 | sort | tr '\\n' ' '); echo "$names"; [ "$names" = "$expected_names " ]`,
    remedy: remedies.bubblewrap,
  },
  {
    name: "read_only_places",
    test: `while read -r _ _ _ _ place options _; do case $place in ${writablePlaces}) continue ;; esac
  case $options in ro|ro,*) ;; *) echo "$place"; return 1 ;; esac
done </proc/self/mountinfo
for place in / /usr /etc /opt /opt/tools /opt/command /proc /dev; do
  if (: >"$place/probe"); then echo "$place"; return 1; fi
done
! (: >/proc/sys/kernel/hostname)`,
    remedy: remedies.bubblewrap,
  },
  {
    name: "devices",
    test: `for path in /dev/*; do case " ${devices} " in *" \${path#/dev/} "*) ;; *) echo "$path"; return 1 ;; esac; done`,
    remedy: remedies.bubblewrap,
  },
  {
    name: "user_id",
    test: `echo "uid $(id -u), groups $(id -G)"; [ "$(id -u) $(id -G)" = "1000 1000" ]`,
    remedy: remedies.bubblewrap,
  },
  {
    name: "descriptors", // 3 is the listing's own
    test: `open=$(ls /proc/self/fd | tr '\\n' ' '); echo "$open"; [ "$open" = "0 1 2 3 " ]`,
    remedy: remedies.descriptors,
  },
  { name: "terminal", test: "! (: </dev/tty)", remedy: remedies.bubblewrap },
  { name: "host_name", test: `[ "$(cat /proc/sys/kernel/hostname)" = sandbox ]`, remedy: remedies.namespaces },
  {
    name: "process_limits",
    test: `echo "$(ulimit -Hu) tasks, $(ulimit -Hn) files"; [ "$(ulimit -Hc) $(ulimit -Hf)" = "0 1048576" ]`,
    remedy: remedies.limits,
  },
];

/** Prints `name<TAB>holds|open<TAB>detail` for each barrier. */
export function probeScript(aims: ScriptAims): string {
  const host = Object.entries(aims.hostNamespaces).map(([kind, link]) => `host_${kind}=${quoted(link)}`);
  const names = [...environmentNamesInside, ...Object.keys(aims.environment), "PWD", "SHLVL", "_"].sort();
  return [
    `canary=${quoted(aims.canary)} tcp_port=${aims.tcpPort} udp_port=${aims.udpPort} ${host.join(" ")}`,
    `expected_names=${quoted(names.join(" "))}`,
    'try() { if detail=$("probe_$1" 2>/dev/null); then state=holds; else state=open; fi',
    "  printf '%s\\t%s\\t%s\\n' \"$1\" $state \"${detail//[$'\\n\\t']/ }\"; }",
    ...barriers.map(({ name, test }) => `probe_${name}() {\n${test}\n}\ntry ${name}`),
    "",
  ].join("\n");
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
