/** Text of strangers for a person's eyes: control characters and invisible ones become visible escapes (SEC-114). */
export function visibleText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) =>
    character === "\n" || character === "\t"
      ? character
      : `\\u{${character.codePointAt(0)?.toString(16).toUpperCase()}}`,
  );
}
