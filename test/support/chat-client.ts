import type { ToolExecutor } from "./tool-executor.ts";

type ChatCall = {
  readonly id: string;
  readonly type: "function";
  readonly function: { name: string; arguments: string };
};

/** A message of the protocol, as far as the tests use it. */
export type ChatMessage =
  | { readonly role: "system" | "user"; readonly content: string }
  | { readonly role: "assistant"; readonly content: string | null; readonly tool_calls?: readonly ChatCall[] }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string };

/** One call and what it was answered. */
type Exchange = {
  readonly tool: string;
  readonly arguments: { readonly path?: string };
  readonly answer: string;
};

const parameters = { type: "object", properties: {}, additionalProperties: true };

/** The tools that the scripted model uses, as a client offers them. */
export const offeredTools = [
  "read_file",
  "search_text",
  "find_files",
  "edit_file",
  "create_file",
  "run_tests",
  "finish",
].map((name) => ({ type: "function", function: { name, description: name, parameters } }));

/** Posts a body to the chat completions of a server. */
export function postChat(baseUrl: string, body: unknown): Promise<Response> {
  return fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** Asks for a whole answer and returns the assistant's message. */
export async function askModel(
  baseUrl: string,
  messages: readonly ChatMessage[],
  more: object = {},
): Promise<ChatMessage> {
  const response = await postChat(baseUrl, { model: "scripted", messages, tools: offeredTools, ...more });
  if (response.status !== 200) throw new Error(`status ${response.status}: ${await response.text()}`);
  const { choices } = (await response.json()) as { choices: { message: ChatMessage }[] };
  const message = choices[0]?.message;
  if (message === undefined) throw new Error("the answer has no choice");
  return message;
}

export type Conversation = {
  readonly exchanges: readonly Exchange[];
  readonly messages: readonly ChatMessage[];
  readonly lastText: string;
};

const maxTurns = 100;

/** The least of a loop: asks, executes, answers, until `finish` or a text without calls. */
export async function converse(
  baseUrl: string,
  issue: string,
  execute: ToolExecutor,
  more: object = {},
): Promise<Conversation> {
  const messages: ChatMessage[] = [
    { role: "system", content: "You mend software with the tools you have." },
    { role: "user", content: issue },
  ];
  const exchanges: Exchange[] = [];
  for (let turn = 0; turn < maxTurns; turn += 1) {
    const message = await askModel(baseUrl, messages, more);
    messages.push(message);
    const calls = message.role === "assistant" ? (message.tool_calls ?? []) : [];
    if (calls.length === 0) return { exchanges, messages, lastText: message.content ?? "" };
    for (const call of calls) {
      const answer = await execute(call.function.name, call.function.arguments);
      exchanges.push({ tool: call.function.name, arguments: JSON.parse(call.function.arguments), answer });
      messages.push({ role: "tool", tool_call_id: call.id, content: answer });
    }
    if (calls.some((call) => call.function.name === "finish"))
      return { exchanges, messages, lastText: message.content ?? "" };
  }
  throw new Error(`no end after ${maxTurns} turns`);
}
