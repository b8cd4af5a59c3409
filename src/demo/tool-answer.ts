/** What a tool answered, cut into the header's status and the body (ACI-1, ACI-5). */
export type Answer = {
  readonly tool: string;
  readonly status: "ok" | "empty" | "refused" | "failed" | "unknown" | "unreadable";
  /** The header line. */
  readonly header: string;
  readonly body: string;
  /** All of it, for codes and for messages. */
  readonly text: string;
};

export type NumberedLine = { readonly number: number; readonly text: string };

/** A line that a search showed. */
export type Hit = NumberedLine & { readonly path: string };

const header = /^(ok|empty|refused|failed|unknown): /;

/** Reads a result. Lines before the header (the delimiter of a block of untrusted text) are passed over. */
export function readAnswer(tool: string, text: string): Answer {
  const lines = text.split("\n");
  const at = lines.slice(0, 3).findIndex((line) => header.test(line));
  const headerLine = lines[at] ?? "";
  const status = (header.exec(headerLine)?.[1] ?? "unreadable") as Answer["status"];
  return { tool, status, header: headerLine, body: lines.slice(at + 1).join("\n"), text };
}

/** Whether a result is a refusal for this reason. */
export function isRefusedFor(answer: Answer | undefined, code: string): boolean {
  return answer?.status === "refused" && answer.header.includes(code);
}

/** How lines of files are shown: number, tab, text. */
const numbered = /^(\d+)\t(.*)$/;

/** The numbered lines of a file window. Empty where the numbers are not in sequence: then the result is wrong. */
export function windowOf(answer: Answer): readonly NumberedLine[] {
  const lines = answer.body.split("\n").flatMap((line) => {
    const match = numbered.exec(line);
    return match === null ? [] : [{ number: Number(match[1]), text: match[2] ?? "" }];
  });
  const inSequence = lines.every((line, index) => line.number === (lines[0]?.number ?? 0) + index);
  return inSequence ? lines : [];
}

/** The hits of a search: `number:text`, grouped under the paths of their files. */
export function hitsOf(answer: Answer): readonly Hit[] {
  const hits: Hit[] = [];
  let path = "";
  for (const line of answer.body.split("\n")) {
    const match = /^(\d+):(.*)$/.exec(line);
    if (match !== null && path !== "") hits.push({ path, number: Number(match[1]), text: match[2] ?? "" });
    else path = pathOn(line) ?? path;
  }
  return hits;
}

/** The paths that `find_files` listed, one a line. */
export const pathsOf = (answer: Answer): readonly string[] =>
  answer.body.split("\n").flatMap((line) => pathOn(line) ?? []);

/** A repository-relative path that stands alone on a line. */
const pathOn = (line: string): string | null => (/^[\w@+.-]+(?:\/[\w@+.-]+)*$/.test(line) ? line : null);
