/** What the App needs and nothing else (SEC-117). */
export const neededPermissions = {
  checks: "write",
  contents: "write",
  issues: "write",
  metadata: "read",
  pull_requests: "write",
} as const;

const ranks: Readonly<Record<string, number>> = { read: 1, write: 2, admin: 3 };
const rankOf = (level: string | undefined): number => (level === undefined ? 0 : (ranks[level] ?? 3));

export type PermissionFinding = { readonly permission: string; readonly needed: string; readonly granted: string };

/** Where what was granted differs from what is needed: `missing` stops a start, `superfluous` is a warning. */
export function checkPermissions(granted: Readonly<Record<string, string>>): {
  readonly missing: readonly PermissionFinding[];
  readonly superfluous: readonly PermissionFinding[];
} {
  const needed: Readonly<Record<string, string>> = neededPermissions;
  const findings = [...new Set([...Object.keys(needed), ...Object.keys(granted)])].sort().map((permission) => ({
    permission,
    needed: needed[permission] ?? "none",
    granted: granted[permission] ?? "none",
    surplus: rankOf(granted[permission]) - rankOf(needed[permission]),
  }));
  const named = ({ permission, needed: least, granted: given }: (typeof findings)[number]): PermissionFinding => ({
    permission,
    needed: least,
    granted: given,
  });
  return {
    missing: findings.filter(({ surplus }) => surplus < 0).map(named),
    superfluous: findings.filter(({ surplus }) => surplus > 0).map(named),
  };
}
