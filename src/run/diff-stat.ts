/** Files, added and removed lines of a git patch. Counts hunks by their headers, so that content can't pose as one. */
export function diffStat(patch: string): { readonly files: number; readonly added: number; readonly removed: number } {
  let files = 0;
  let added = 0;
  let removed = 0;
  let oldLeft = 0;
  let newLeft = 0;
  for (const line of patch.split("\n")) {
    if (oldLeft > 0 || newLeft > 0) {
      if (line.startsWith("+")) added += 1;
      if (line.startsWith("-")) removed += 1;
      if (!line.startsWith("+") && !line.startsWith("\\")) oldLeft -= 1;
      if (!line.startsWith("-") && !line.startsWith("\\")) newLeft -= 1;
      continue;
    }
    if (line.startsWith("diff --git ")) files += 1;
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (hunk === null) continue;
    oldLeft = Number(hunk[1] ?? 1);
    newLeft = Number(hunk[2] ?? 1);
  }
  return { files, added, removed };
}
