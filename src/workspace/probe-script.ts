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
 * Each `test` is bash, run inside: it succeeds where the barrier holds and may set `detail`, one line. `$canary` and the ports
 * aim at what the host made for this alone, never at the machine's own values. What the shell can do itself it does: each
 * program that is started costs a worker's start some milliseconds.
 */
export const barriers: readonly Barrier[] = [
  ...namespaceKinds.map((kind) => ({
    name: `${kind}_namespace`,
    test: `[[ " $namespaces " == *" ${kind}:["* && " $namespaces " != *" $host_${kind} "* ]]`,
    remedy: remedies.namespaces,
  })),
  { name: "tcp", test: `! { : 9<>"/dev/tcp/127.0.0.1/$tcp_port"; }`, remedy: remedies.namespaces },
  {
    name: "udp",
    test: `! { printf '?' >&9 && read -r -n 1 -t 5 -u 9; } 9<>"/dev/udp/127.0.0.1/$udp_port"`,
    remedy: remedies.namespaces,
  },
  {
    name: "dns",
    test: `[ ! -s /etc/resolv.conf ] && ! { : 9<>/dev/udp/countersign.example/53; }`,
    remedy: remedies.namespaces,
  },
  {
    name: "network_devices",
    test: `{ read -r _; read -r _; while IFS=': ' read -r name _; do detail+=$name; done; } </proc/net/dev; [ "$detail" = lo ]`,
    remedy: remedies.namespaces,
  },
  {
    name: "host_files",
    test: `set -- /*; detail=\${*#/}; set -- /home/*; [ "$detail" = "${topFolders}" ] && [ ! -e "$canary" ] && [ "$*" = /home/agent ]`,
    remedy: remedies.bubblewrap,
  },
  {
    name: "host_sockets", // SEC-52: a read-only mount keeps nobody from connecting
    test: `command -v find >/dev/null || return 1; detail=$(find /opt /etc -type s -print -quit); [ -z "$detail" ]`,
    remedy: remedies.sockets,
  },
  {
    name: "host_processes",
    test: `set -- /proc/[0-9]*; detail="$# seen"; [ $# -lt 10 ] && read -r name </proc/1/comm && [ "$name" = bwrap ]`,
    remedy: remedies.namespaces,
  },
  { name: "core_pattern", test: "! { : >/proc/sys/kernel/core_pattern; }", remedy: remedies.bubblewrap },
  {
    name: "capabilities",
    test: 'for set in Inh Prm Eff Bnd Amb; do status_says "^Cap$set:.0000000000000000$" || return 1; done',
    remedy: remedies.bubblewrap,
  },
  { name: "no_new_privileges", test: "status_says '^NoNewPrivs:.1$'", remedy: remedies.bubblewrap },
  { name: "seccomp", test: "status_says '^Seccomp:.2$'", remedy: remedies.filter },
  {
    name: "environment",
    test: `detail=$(env | cut -d= -f1 | sort | tr '\\n' ' '); [ "$detail" = "$expected_names " ]`,
    remedy: remedies.bubblewrap,
  },
  {
    name: "read_only_places",
    test: `while read -r _ _ _ _ place options _; do case $place in ${writablePlaces}) continue ;; esac
  case $options in ro|ro,*) ;; *) detail=$place; return 1 ;; esac
done </proc/self/mountinfo
for place in / /usr /etc /opt /opt/tools /opt/command /proc /dev; do
  if { : >"$place/probe"; }; then detail=$place; return 1; fi
done
! { : >/proc/sys/kernel/hostname; }`,
    remedy: remedies.bubblewrap,
  },
  {
    name: "devices",
    test: `for path in /dev/*; do case " ${devices} " in *" \${path#/dev/} "*) ;; *) detail=$path; return 1 ;; esac; done`,
    remedy: remedies.bubblewrap,
  },
  {
    name: "user_id",
    test: `detail="uid $EUID, groups \${GROUPS[*]}"; [ "$UID $EUID \${GROUPS[*]}" = "1000 1000 1000" ]`,
    remedy: remedies.bubblewrap,
  },
  {
    name: "descriptors", // 3 is the listing's own; the shell has its script open as well
    test: `detail=$(ls /proc/self/fd); [ "\${detail//$'\\n'/ }" = "0 1 2 3" ]`,
    remedy: remedies.descriptors,
  },
  { name: "terminal", test: "! { : </dev/tty; }", remedy: remedies.bubblewrap },
  {
    name: "host_name",
    test: `read -r name </proc/sys/kernel/hostname && [ "$name" = sandbox ]`,
    remedy: remedies.namespaces,
  },
  {
    name: "process_limits",
    test: `set -- $(ulimit -Hu; ulimit -Hn; ulimit -Hc; ulimit -Hf); detail="$1 tasks, $2 files"; [ "$3 $4" = "0 1048576" ]`,
    remedy: remedies.limits,
  },
];

/** What the tests share. What the shell itself would tell of what fails, as it should, goes nowhere. */
const shared = `exec 2>/dev/null
shopt -s dotglob nullglob
namespaces=$(readlink ${namespaceKinds.map((kind) => `/proc/self/ns/${kind}`).join(" ")})
namespaces=\${namespaces//$'\\n'/ }
mapfile -t status </proc/self/status
status_says() { local line; for line in "\${status[@]}"; do [[ $line =~ $1 ]] && return; done; return 1; }
try() {
  detail=
  if "probe_$1"; then state=holds; else state=open; fi
  printf '%s\\t%s\\t%s\\n' "$1" $state "\${detail//[$'\\n\\t']/ }"
}`;

/** Prints `name<TAB>holds|open<TAB>detail` for each barrier. */
export function probeScript(aims: ScriptAims): string {
  const host = Object.entries(aims.hostNamespaces).map(([kind, link]) => `host_${kind}=${quoted(link)}`);
  const names = [...environmentNamesInside, ...Object.keys(aims.environment), "PWD", "SHLVL", "_"].sort();
  return [
    `canary=${quoted(aims.canary)} tcp_port=${aims.tcpPort} udp_port=${aims.udpPort} ${host.join(" ")}`,
    `expected_names=${quoted(names.join(" "))}`,
    shared,
    ...barriers.map(({ name, test }) => `probe_${name}() {\n${test}\n}\ntry ${name}`),
    "",
  ].join("\n");
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
