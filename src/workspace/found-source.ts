import { createHash } from "node:crypto";
import type { RepositoryRef } from "../domain/index.ts";

/** One commit that can be fetched, and how. */
export type FoundSource = {
  readonly repository: RepositoryRef;
  readonly commitSha: string;
  readonly objectFormat: "sha1" | "sha256";
  /** What git fetches from; the protocol named is the only one allowed, and only for this fetch (SEC-78). */
  readonly address: string;
  readonly protocol: "file" | "https" | "http";
  /** For the fetch alone: where a credential is needed, this holds it (SEC-77). */
  readonly environment?: Readonly<Record<string, string>>;
  /** Folders that git may read though another user owns them: those of the typed path, never `*`. */
  readonly safeFolders: readonly string[];
  /** Paths whose uncommitted state is left out (GH-141), sorted. */
  readonly uncommitted: readonly string[];
};

/** `local:` and the first 16 hex digits of the SHA-256 of a real path or URL (GH-141). */
export const localRepositoryId = (place: string): string =>
  `local:${createHash("sha256").update(place).digest("hex").slice(0, 16)}`;
