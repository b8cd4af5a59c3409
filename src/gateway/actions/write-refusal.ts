import { assertNever, type Refusal } from "../../domain/index.ts";
import type { FileWrite } from "../../workspace/index.ts";
import type { ActionContext } from "../action-description.ts";
import { changedBy } from "../edit-checks.ts";
import { alreadyExists, type Call, changedSinceRead, deletedSinceRead, outsideWorkspace } from "../refusals.ts";

/** What stood in the way of a write that was checked and tried: the world moved between the two. */
export function writeRefusal(
  context: ActionContext,
  call: Call,
  path: string,
  write: Exclude<FileWrite, { kind: "written" }>,
): Refusal {
  switch (write.kind) {
    case "exists":
      return alreadyExists(path, write.sizeBytes);
    case "absent":
      return deletedSinceRead(call, path, changedBy(context, path));
    case "changed":
      return changedSinceRead(path, changedBy(context, path), { lineFrom: null, lineCount: null }, "");
    case "refused":
      return outsideWorkspace(call, path, write.cause);
    default:
      return assertNever(write);
  }
}
