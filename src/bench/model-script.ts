/**
 * What the measuring model server does is named by the model that is asked for: `commands-50` calls `run_command` fifty
 * times, `reads-50` `read_file`; then both finish. So every client, ours or a floor, meets the same script, and the
 * server keeps no state of a conversation.
 */
export type ScriptedCall = {
  readonly name: string;
  readonly arguments: {
    readonly command?: string;
    readonly path?: string;
    readonly [other: string]: string | number | null | undefined;
  };
};

/** A model that only runs commands would be taken for stuck: now and then it reads. These calls are not counted. */
const readEvery = 10;
/** Lines in the file that is read, and lines in one reading. */
export const readableLines = 5_000;
const linesPerRead = 5;

export const readableFile = "lines.txt";
export type ScriptedTool = "commands" | "reads";
export const modelName = (tool: ScriptedTool, calls: number): string => `${tool}-${calls}`;

/** The call of a step, from 0. */
export function callOf(model: string, step: number): ScriptedCall {
  const [kind, calls] = model.split("-");
  if (step >= Number(calls)) return { name: "finish", arguments: { summary: "Measured.", title: "Measured" } };
  if (kind === "commands" && step % readEvery !== readEvery - 1) {
    return { name: "run_command", arguments: { command: `echo ${step}`, timeout_s: null } };
  }
  const from = ((step * linesPerRead) % (readableLines - linesPerRead)) + 1;
  return { name: "read_file", arguments: { path: readableFile, line_from: from, line_count: linesPerRead } };
}
