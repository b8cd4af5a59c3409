import type { RandomBytes } from "../domain/index.ts";
import { newDelimiter } from "./data-block.ts";
import type { ToolMessage } from "./model.ts";
import type { PlacedCall } from "./turn.ts";
import { untrusted } from "./untrusted-text.ts";

/** The answer to a call as the model gets it: whatever it says, it is data, in a block of its own. */
export function toolMessage(
  deps: { readonly randomBytes: RandomBytes },
  { toolCallId }: PlacedCall,
  text: string,
): ToolMessage {
  const content = untrusted(text, { kind: "tool_result" });
  return { kind: "tool", toolCallId, content, delimiter: newDelimiter(deps, content), notice: null };
}
