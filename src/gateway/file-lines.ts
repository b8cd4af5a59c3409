/** Facts about a text file's lines that a reader and an editor need. */
export type LineFacts = {
  readonly totalLines: number;
  readonly lineEnding: "LF" | "CRLF" | "mixed" | "none";
  readonly endsWithNewline: boolean;
};

export function lineFacts(text: string): LineFacts {
  let lineFeeds = 0;
  let pairs = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
    lineFeeds += 1;
    if (text[at - 1] === "\r") pairs += 1;
  }
  const endsWithNewline = text.endsWith("\n");
  const totalLines = lineFeeds + (endsWithNewline || text === "" ? 0 : 1);
  return { totalLines, lineEnding: endingName(lineFeeds, pairs), endsWithNewline };
}

function endingName(lineFeeds: number, pairs: number): LineFacts["lineEnding"] {
  if (lineFeeds === 0) return "none";
  if (pairs === 0) return "LF";
  return pairs === lineFeeds ? "CRLF" : "mixed";
}

/** Lines of a text without their ends. */
export function textLines(text: string): readonly string[] {
  if (text === "") return [];
  const lines = text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  return text.endsWith("\n") ? lines.slice(0, -1) : lines;
}

/** A line as the model is shown it: number, tab, text. */
export const numberedLine = (number: number, text: string): string => `${number}\t${text}`;
