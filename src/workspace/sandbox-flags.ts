/** A folder of the operator's that stands read-only under `/opt/<name>` (SEC-44). */
export type Toolchain = { readonly name: string; readonly folder: string; readonly addToPath: boolean };

/** What one sandbox is made of; all paths are the host's, absolute. */
export type SandboxLayout = {
  /** Holds passwd, group, hosts, empty, and `command/` with the script of the command. */
  readonly generatedFolder: string;
  readonly toolsFolder: string;
  readonly toolchains: readonly Toolchain[];
  readonly workFolder: string;
  /** Beyond the fixed ones; already checked. */
  readonly environment: Readonly<Record<string, string>>;
  /** The descriptor of a compiled filter, or null where none is given. */
  readonly seccompDescriptor: number | null;
};

/** Read-only inside: the supervisor, and beside it the script of a `shell` request. No repository file can be here. */
export const commandFolderInside = "/opt/command";

const mebibyte = 1024 * 1024;

/** After `PATH`: what SEC-43 has, then ACI-55, so that nothing asks, pages or colours. */
const fixedEnvironment = {
  HOME: "/home/agent",
  TMPDIR: "/tmp",
  LANG: "C.UTF-8",
  CI: "1",
  TERM: "dumb",
  NO_COLOR: "1",
  PAGER: "cat",
  GIT_PAGER: "cat",
  GIT_TERMINAL_PROMPT: "0",
  GIT_EDITOR: "false",
  GIT_SEQUENCE_EDITOR: "false",
  DEBIAN_FRONTEND: "noninteractive",
  TZ: "UTC",
  // Two edits of one length within a second would leave compiled code of the first one in use.
  PYTHONDONTWRITEBYTECODE: "1",
};

/** The variables that every command finds, beside those that its shell sets. */
export const environmentNamesInside: readonly string[] = ["PATH", ...Object.keys(fixedEnvironment)];

/** Where programs are looked for inside, in order. */
export function searchPathInside(toolchains: readonly Toolchain[]): readonly string[] {
  const added = toolchains.filter(({ addToPath }) => addToPath).map(({ name }) => `/opt/${name}/bin`);
  return ["/opt/tools/bin", ...added, "/usr/local/bin", "/usr/bin", "/bin"];
}

/** bubblewrap's arguments exactly as SEC-43 has them, in its order: a mount stands before the `--remount-ro` of its place. */
export function sandboxFlags(layout: SandboxLayout, argv: readonly string[]): readonly string[] {
  const generated = layout.generatedFolder;
  const setenv = (variables: Readonly<Record<string, string>>): string[] =>
    Object.entries(variables).flatMap(([name, value]) => ["--setenv", name, value]);
  const namespaces =
    "--unshare-user --unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup --disable-userns";
  const system =
    "--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/sbin /sbin --symlink usr/lib /lib --symlink usr/lib64 /lib64 " +
    "--dir /etc --ro-bind-try /etc/ld.so.cache /etc/ld.so.cache --ro-bind-try /etc/alternatives /etc/alternatives " +
    "--ro-bind-try /etc/ssl/certs /etc/ssl/certs";
  return [
    ...namespaces.split(" "),
    ..."--uid 1000 --gid 1000 --hostname sandbox --die-with-parent --new-session --cap-drop ALL --clearenv".split(" "),
    ...setenv({ PATH: searchPathInside(layout.toolchains).join(":"), ...fixedEnvironment, ...layout.environment }),
    ...system.split(" "),
    ...["--ro-bind", `${generated}/passwd`, "/etc/passwd", "--ro-bind", `${generated}/group`, "/etc/group"],
    ...["--ro-bind", `${generated}/hosts`, "/etc/hosts", "--ro-bind", `${generated}/empty`, "/etc/resolv.conf"],
    ...["--ro-bind", layout.toolsFolder, "/opt/tools"],
    ...layout.toolchains.flatMap(({ name, folder }) => ["--ro-bind", folder, `/opt/${name}`]),
    ...["--ro-bind", `${generated}/command`, commandFolderInside], // ACI-54: the script as a file, bound read-only
    ...["--proc", "/proc", "--dev", "/dev", "--size", `${64 * mebibyte}`, "--tmpfs", "/dev/shm"],
    ...["--size", `${256 * mebibyte}`, "--tmpfs", "/tmp", "--size", `${256 * mebibyte}`, "--tmpfs", "/home/agent"],
    ...["--bind", layout.workFolder, "/workspace", "--chdir", "/workspace"],
    ...["--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"],
    ...(layout.seccompDescriptor === null ? [] : ["--seccomp", `${layout.seccompDescriptor}`]),
    "--",
    ...argv,
  ];
}
