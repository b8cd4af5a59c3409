import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import OpenAI from "openai";
import type { ScriptedCall } from "./model-script.ts";

type Messages = OpenAI.Chat.Completions.ChatCompletionMessageParam[];

/** Does what a call asks for and answers with its result. */
export type Act = (call: ScriptedCall) => Promise<string>;

/** A loop with the `openai` package and nothing else: ask, act, ask again, until the model finishes. */
export async function floorLoop(
  place: { readonly baseUrl: string; readonly model: string; readonly tools: readonly unknown[] },
  act: Act,
): Promise<void> {
  const client = new OpenAI({ baseURL: place.baseUrl, apiKey: "none", maxRetries: 0 });
  const tools = place.tools as OpenAI.Chat.Completions.ChatCompletionTool[];
  const messages: Messages = [
    { role: "system", content: "You solve an issue in a git repository by calling tools." },
    { role: "user", content: "Measure." },
  ];
  for (;;) {
    const stream = await client.chat.completions.create({
      model: place.model,
      messages,
      tools,
      stream: true,
      stream_options: { include_usage: true },
    });
    const call = { id: "", name: "", arguments: "" };
    for await (const { choices } of stream) {
      for (const part of choices[0]?.delta.tool_calls ?? []) {
        call.id += part.id ?? "";
        call.name += part.function?.name ?? "";
        call.arguments += part.function?.arguments ?? "";
      }
    }
    if (call.name === "finish") return;
    const content = await act({ name: call.name, arguments: JSON.parse(call.arguments) });
    const called = { id: call.id, type: "function", function: { name: call.name, arguments: call.arguments } } as const;
    messages.push({ role: "assistant", content: null, tool_calls: [called] });
    messages.push({ role: "tool", tool_call_id: call.id, content });
  }
}

/** The tool of floors A and B: a function call. */
export const inProcess: Act = ({ arguments: given }) => Promise.resolve(`${given.command ?? given.path}\n`);

/** A command as the design's floors start it: no profile, nothing on standard input. */
export const bashCommand = (command: string): readonly string[] => [
  "/bin/bash",
  "--norc",
  "--noprofile",
  "-c",
  command,
];

/** Spawns a program and reads what it prints. Throws where it ends with another status than `exitCode`. */
export async function printed(
  argv: readonly string[],
  { exitCode = 0, ...owner }: { readonly exitCode?: number; readonly uid?: number; readonly gid?: number } = {},
): Promise<string> {
  const [program = "", ...rest] = argv;
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin" };
  const child = spawn(program, rest, { stdio: ["ignore", "pipe", "inherit"], env, cwd: "/", ...owner });
  const failed = new Promise<never>((_, reject) => child.once("error", reject));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const output = await Promise.race([text(child.stdout), failed]);
  if ((await ended) !== exitCode) throw new Error(`\`${program}\` failed`);
  return output;
}

/** The tool of floors C and D: the command behind this prefix, which is empty for C. */
export function spawning(
  prefix: readonly string[],
  owner: { readonly uid?: number; readonly gid?: number } | null,
): Act {
  return async (call) =>
    call.name === "run_command"
      ? printed([...prefix, ...bashCommand(String(call.arguments.command))], owner ?? {})
      : inProcess(call);
}

/** The same act with so many commits for each call. */
export function withCommits(act: Act, count: number, commit: () => Promise<void>): Act {
  return async (call) => {
    for (let commits = 1; commits < count; commits += 1) await commit();
    const result = await act(call);
    if (count > 0) await commit();
    return result;
  };
}
