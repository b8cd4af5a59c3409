declare const untrustedBrand: unique symbol;

/** Where a text comes from; shown to the model beside it and never a right (SEC-11). */
export type TextOrigin = {
  readonly kind: "issue_title" | "issue_body" | "file" | "file_name" | "tool_result" | "command_output" | "settings";
  readonly authorId: string | null;
  readonly authorCanWrite: boolean;
};

/** Text that strangers may have written. The prompt builder takes nothing else for what is not ours (SEC-10). */
export type UntrustedText = {
  readonly [untrustedBrand]: true;
  readonly text: string;
  readonly origin: TextOrigin;
  /** Hidden or forbidden code points taken out, by kind. */
  readonly removed: Readonly<Record<string, number>>;
};

/** SEC-13: format, private-use and surrogate code points, fillers, and all controls but tab and line feed. */
const dropped =
  /[\p{Cf}\p{Co}\p{Cs}\p{Variation_Selector}]|[\u{180e}\u{3164}\u{115f}\u{1160}\u{ffa0}\u{e0000}-\u{e0fff}]/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: controls are what is looked for
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/**
 * The one maker of `UntrustedText`: line endings become LF, the text NFC, invisible code points and controls go and are
 * counted. Text the model must match byte for byte (files, tool results) keeps its visible bytes and is only marked.
 */
export function untrusted(raw: string, origin: TextOrigin): UntrustedText {
  const keepsBytes = origin.kind === "file" || origin.kind === "tool_result" || origin.kind === "command_output";
  if (keepsBytes) return { text: raw, origin, removed: {} } as unknown as UntrustedText;
  let invisibleCount = 0;
  let controlCount = 0;
  const text = raw
    .replace(/\r\n?/g, "\n")
    .normalize("NFC")
    .replace(dropped, () => {
      invisibleCount += 1;
      return "";
    })
    .replace(controls, () => {
      controlCount += 1;
      return "";
    })
    .normalize("NFC");
  const removed = {
    ...(invisibleCount > 0 ? { invisible: invisibleCount } : {}),
    ...(controlCount > 0 ? { control: controlCount } : {}),
  };
  return { text, origin, removed } as unknown as UntrustedText;
}
