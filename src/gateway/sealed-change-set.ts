import { z } from "zod";
import type { ChangeSet, FileChange } from "../domain/index.ts";

const SealedTreeEntry = z.strictObject({
  mode: z.enum(["100644", "100755", "120000", "160000"]),
  blobSha: z.string(),
  sizeBytes: z.number(),
});
const SealedChangeSet = z.array(
  z.strictObject({
    path: z.string(),
    before: SealedTreeEntry.nullable(),
    after: z
      .strictObject({ mode: z.enum(["100644", "100755", "120000"]), blobSha: z.string(), content: z.base64() })
      .nullable(),
  }),
);

/** A change set as JSON with its contents in base64: what is sealed with an outcome, so that no work is lost. */
export function sealedChangeSet(changeSet: ChangeSet): Uint8Array {
  const stored: z.infer<typeof SealedChangeSet> = changeSet.changes.map(({ path, before, after }) => ({
    path,
    before: before === null ? null : { ...before },
    after:
      after === null
        ? null
        : { mode: after.mode, blobSha: after.blobSha, content: Buffer.from(after.content).toString("base64") },
  }));
  return new TextEncoder().encode(JSON.stringify(stored));
}

/** Reads what `sealedChangeSet` wrote. Throws on anything else. */
export function openSealedChangeSet(bytes: Uint8Array): ChangeSet {
  const stored = SealedChangeSet.parse(JSON.parse(new TextDecoder().decode(bytes)));
  return {
    changes: stored.map(({ path, before, after }): FileChange => {
      const opened = after === null ? null : { ...after, content: Buffer.from(after.content, "base64") };
      return { path, before, after: opened };
    }),
  };
}
