import { lintSource } from "@secretlint/core";
import { secretLintProfiler } from "@secretlint/profiler";
import { creator } from "@secretlint/secretlint-rule-preset-recommend";
import { isPlaceholder } from "../domain/index.ts";

/** A place in a text, in code units, and the rule of secretlint that it breaks. */
export type LintFinding = { readonly rule: string; readonly from: number; readonly to: number };

// It keeps a mark of each rule and text for the life of the process.
secretLintProfiler.setEnabled(false);

const preset = "@secretlint/secretlint-rule-preset-recommend";
const rulePrefix = "@secretlint/secretlint-rule-";

/**
 * A comment in the file could switch the scan off: it is the model's to write, so it has no effect (SEC-97). Of the same
 * length, so that places stay.
 */
const withoutSwitches = (text: string): string => text.replaceAll(/secretlint-(?=disable|enable)/gi, "secretlint_");

/** Some of its expressions take more than linear time on long lines: longer texts are looked at in pieces that overlap. */
const pieceLength = 32_768;
const overlap = 2_048;

/**
 * Secretlint's recommended rules over one text. `name` stands for the file's name, by which some rules know its kind. Values
 * that stand for one, as documentation writes them, are none.
 */
export async function lintSecrets(name: string, text: string): Promise<readonly LintFinding[]> {
  const safe = withoutSwitches(text);
  const found: LintFinding[] = [];
  for (let start = 0; start === 0 || start < safe.length; start += pieceLength - overlap) {
    const piece = safe.slice(start, start + pieceLength);
    found.push(
      ...(await lintPiece(name, piece)).map(({ rule, from, to }) => ({ rule, from: from + start, to: to + start })),
    );
    if (start + pieceLength >= safe.length) break;
  }
  return found.filter(({ from, to }) => !isPlaceholder(text.slice(from, to)));
}

async function lintPiece(name: string, content: string): Promise<readonly LintFinding[]> {
  const source = { filePath: name, content, ext: "", contentType: "text" } as const;
  const config = { rules: [{ id: preset, rule: creator }] };
  const { messages } = await lintSource({ source, options: { config, noPhysicFilePath: true } });
  // Places are told without a byte order mark.
  const mark = content.startsWith("\uFEFF") ? 1 : 0;
  return messages.map(({ ruleId, range: [from, to] }) => ({
    rule: ruleId.replace(rulePrefix, "secretlint:"),
    from: from + mark,
    to: to + mark,
  }));
}
