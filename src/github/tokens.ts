/** Permissions of an installation token: GitHub's name of the permission to the level. */
export type Permissions = Readonly<Record<string, "read" | "write">>;
