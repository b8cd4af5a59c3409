import type { ActionContext } from "./action-description.ts";
import { byteLines } from "./clean-output.ts";
import { ignoredArgv, plainPath, runRipgrep, searchTimeoutMs } from "./ripgrep.ts";
import { decodeText, decodeWithEscapes } from "./text-bytes.ts";

const maxRuleFileBytes = 256 * 1024;
const ignoring = /ignoring (.+?): Ignore\(.*?Glob \{ from: Some\("(.*?)"\), original: "(.*?)", actual: /;

/** The rule that leaves a path out, such as `.gitignore:3`; null where none does (ACI-25). */
export async function ignoreRuleOf(context: ActionContext, path: string, signal: AbortSignal): Promise<string | null> {
  if (path === "." || isTracked(context, path)) return null;
  const parts = path.split("/");
  const ways = parts.map((_part, index) => parts.slice(0, index + 1).join("/"));
  const folders = [".", ...ways.slice(0, -1)];
  const result = await runRipgrep(context.workspace, ignoredArgv(folders), searchTimeoutMs, signal);
  for (const bytes of byteLines(result.output)) {
    const match = ignoring.exec(decodeWithEscapes(bytes).text);
    if (match?.[1] === undefined || !ways.includes(plainPath(match[1]))) continue;
    return nameRule(context, match[2] ?? "", withoutEscapes(match[3] ?? ""));
  }
  return null;
}

/** What the base tracks isn't ignored, whatever the rules say; this spares most calls the look. */
function isTracked(context: ActionContext, path: string): boolean {
  const { entries } = context.workspace.base;
  if (entries.has(path)) return true;
  const folder = `${path}/`;
  for (const entry of entries.keys()) if (entry.startsWith(folder)) return true;
  return false;
}

const withoutEscapes = (debugText: string): string => debugText.replace(/\\(["'\\])/g, "$1");

async function nameRule(context: ActionContext, from: string, rule: string): Promise<string> {
  const file = plainPath(from.replace(/^\/workspace\//, ""));
  const read = await context.workspace.readFile(file, maxRuleFileBytes);
  const decoded = read.kind === "file" ? decodeText(read.bytes) : null;
  const lines = decoded?.kind === "text" ? decoded.text.split(/\r?\n/) : [];
  const line = lines.findLastIndex((candidate) => candidate.trimEnd() === rule) + 1;
  return line > 0 ? `${file}:${line}` : `${file} (${rule})`;
}
