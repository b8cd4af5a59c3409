import { environmentNamesInside } from "./sandbox-flags.ts";

/** A barrier of the sandbox and what its absence points to. */
export type Barrier = { readonly name: string; readonly test: string; readonly remedy: string };

const bubblewrapRemedy = "install the distribution's own bubblewrap, 0.8.0 or newer, and run this again";
const namespaceRemedy = "allow bwrap to make namespaces (in a container: run it as docs/install.md says)";
const topFolders = "bin dev etc home lib lib64 opt proc sbin tmp usr workspace";

/**
 * Each `test` is bash, run inside: it succeeds where the barrier holds and may print one line of detail. `$canary` and `$port`
 * aim at what the host made for this alone, never at the machine's own values.
 */
export const barriers: readonly Barrier[] = [
  { name: "tcp", test: `! (exec 9<>"/dev/tcp/127.0.0.1/$port")`, remedy: namespaceRemedy },
  {
    name: "network_devices",
    test: `names=$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' \\n'); echo "$names"; [ "$names" = lo ]`,
    remedy: namespaceRemedy,
  },
  {
    name: "host_files",
    test: `seen=$(ls -A / | tr '\\n' ' '); echo "$seen"; [ "$seen" = "${topFolders} " ] && [ ! -e "$canary" ] && [ "$(ls -A /home)" = agent ]`,
    remedy: bubblewrapRemedy,
  },
  {
    name: "host_processes",
    test: `set -- /proc/[0-9]*; echo "$# seen"; [ $# -lt 10 ] && [ "$(cat /proc/1/comm)" = bwrap ]`,
    remedy: namespaceRemedy,
  },
  {
    name: "nested_namespaces",
    test: "command -v unshare >/dev/null && ! unshare --user true",
    remedy: bubblewrapRemedy,
  },
  { name: "mount", test: "command -v mount >/dev/null && ! mount -t tmpfs none /tmp", remedy: bubblewrapRemedy },
  {
    name: "capabilities",
    test: "[ \"$(grep -cE '^Cap(Inh|Prm|Eff|Bnd|Amb):.0000000000000000$' /proc/self/status)\" = 5 ]",
    remedy: bubblewrapRemedy,
  },
  { name: "no_new_privileges", test: "grep -qE '^NoNewPrivs:.1$' /proc/self/status", remedy: bubblewrapRemedy },
  {
    name: "environment",
    test: `names=$(env | cut -d= -f1 | sort | tr '\\n' ' '); echo "$names"; [ "$names" = "$expected_names " ]`,
    remedy: bubblewrapRemedy,
  },
  {
    name: "read_only_places",
    test: `for place in / /usr /etc /opt /opt/tools /opt/command /proc /dev; do
  if (: >"$place/probe"); then echo "$place"; return 1; fi
done
! (: >/proc/sys/kernel/hostname)`,
    remedy: bubblewrapRemedy,
  },
  {
    name: "user_id",
    test: `echo "uid $(id -u), groups $(id -G)"; [ "$(id -u) $(id -G)" = "1000 1000" ]`,
    remedy: bubblewrapRemedy,
  },
  {
    name: "descriptors", // 3 is the listing's own
    test: `open=$(ls /proc/self/fd | tr '\\n' ' '); echo "$open"; [ "$open" = "0 1 2 3 " ]`,
    remedy: "report this: a descriptor of the service reaches the sandbox",
  },
  { name: "terminal", test: "! (: </dev/tty)", remedy: bubblewrapRemedy },
  { name: "host_name", test: `[ "$(cat /proc/sys/kernel/hostname)" = sandbox ]`, remedy: namespaceRemedy },
  {
    name: "process_limits",
    test: `echo "$(ulimit -Hu) tasks, $(ulimit -Hn) files"; [ "$(ulimit -Hc) $(ulimit -Hf)" = "0 1048576" ]`,
    remedy: "install util-linux, whose `prlimit` sets the limits",
  },
];

/** Prints `name<TAB>holds|open<TAB>detail` for each barrier. */
export function probeScript(aims: { readonly canary: string; readonly port: number }): string {
  return [
    `canary=${quoted(aims.canary)} port=${aims.port}`,
    `expected_names=${quoted([...environmentNamesInside, "PWD", "SHLVL", "_"].sort().join(" "))}`,
    'try() { if detail=$("probe_$1" 2>/dev/null); then state=holds; else state=open; fi',
    "  printf '%s\\t%s\\t%s\\n' \"$1\" $state \"${detail//[$'\\n\\t']/ }\"; }",
    ...barriers.map(({ name, test }) => `probe_${name}() {\n${test}\n}\ntry ${name}`),
    "",
  ].join("\n");
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
