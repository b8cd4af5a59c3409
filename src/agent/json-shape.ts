/** `whole`: parses; `cut`: ends before the JSON does; `broken`: no JSON whatever might follow. */
export type JsonShape = "whole" | "cut" | "broken";

/**
 * Tells arguments that were cut off from arguments that were never JSON (ACI-65). A finish reason may lie about a cut
 * (ACI-94), so the text alone decides. Nothing is ever mended here.
 */
export function jsonShape(text: string): JsonShape {
  try {
    JSON.parse(text);
    return "whole";
  } catch {
    return isOpen(text) ? "cut" : "broken";
  }
}

/** Whether a string, an object or an array is still open at the end, or nothing has begun. */
function isOpen(text: string): boolean {
  const withoutStrings = text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/gs, "s");
  if (withoutStrings.includes('"') || withoutStrings.trim() === "") return true;
  const opened = withoutStrings.match(/[{[]/g)?.length ?? 0;
  const closed = withoutStrings.match(/[}\]]/g)?.length ?? 0;
  return opened > closed;
}
