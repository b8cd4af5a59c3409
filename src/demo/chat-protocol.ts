import { z } from "zod";

/** One call of a tool as it stands in an assistant's message. `arguments` is JSON text. */
const ToolCall = z.object({
  id: z.string().min(1),
  type: z.literal("function"),
  function: z.object({ name: z.string().min(1), arguments: z.string() }),
});

/** Content is a text, or a list of parts of which the text parts count. */
const Content = z
  .union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.string().optional() }))])
  .transform((content) => (typeof content === "string" ? content : content.map((part) => part.text ?? "").join("")));

const Message = z.discriminatedUnion("role", [
  z.object({ role: z.enum(["system", "developer", "user"]), content: Content }),
  z.object({
    role: z.literal("assistant"),
    content: Content.nullish(),
    tool_calls: z.array(ToolCall).min(1).optional(),
  }),
  z.object({ role: z.literal("tool"), tool_call_id: z.string(), content: Content }),
]);

const Tool = z.object({
  type: z.literal("function"),
  function: z.object({
    name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/),
    description: z.string().optional(),
    parameters: z.looseObject({ type: z.literal("object") }).optional(),
  }),
});

const ChatRequest = z.object({
  model: z.string().min(1),
  messages: z.array(Message).min(1),
  tools: z.array(Tool).min(1).optional(),
  parallel_tool_calls: z.boolean().optional(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().optional() }).nullish(),
});

export type ChatMessage = z.infer<typeof Message>;
export type ChatRequest = z.infer<typeof ChatRequest>;

/** What the protocol's servers answer to a request that they don't take. */
export type ProtocolError = {
  readonly status: number;
  readonly message: string;
  readonly param: string | null;
  readonly code: string | null;
};

type Read =
  | { readonly kind: "request"; readonly request: ChatRequest }
  | { readonly kind: "error"; error: ProtocolError };

const reject = (message: string, param: string | null, code: string | null = null): Read => ({
  kind: "error",
  error: { status: 400, message, param, code },
});

/** Reads a body as a real server would: its shape, then the pairing of calls and answers. */
export function readChatRequest(body: string): Read {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return reject("We could not parse the JSON body of your request.", null);
  }
  const parsed = ChatRequest.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const place = (issue?.path ?? [])
      .map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`))
      .join("");
    return reject(
      `Invalid value for '${place.replace(/^\./, "")}': ${issue?.message ?? "unreadable"}`,
      place.replace(/^\./, ""),
    );
  }
  const request = parsed.data;
  if (request.stream_options != null && request.stream !== true)
    return reject("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options");
  const names = (request.tools ?? []).map((tool) => tool.function.name);
  if (new Set(names).size < names.length) return reject("Tool names must be unique.", "tools");
  const fault = pairingFault(request.messages);
  return fault === null ? { kind: "request", request } : reject(fault, "messages");
}

/** The first breach of the rule that each call has exactly one answer, right after its message; null if there is none. */
function pairingFault(messages: readonly ChatMessage[]): string | null {
  const seen = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") {
      if (!callsBefore(messages, index).has(message.tool_call_id)) return orphan(index);
      continue;
    }
    if (message.role !== "assistant") continue;
    const fault =
      emptyFault(message, index) ?? repeatFault(message, index, seen) ?? answersFault(message, messages, index);
    if (fault !== null) return fault;
  }
  return null;
}

type AssistantMessage = Extract<ChatMessage, { role: "assistant" }>;

const idsOf = (message: AssistantMessage): readonly string[] => (message.tool_calls ?? []).map((call) => call.id);

/** The calls that a tool's message may answer: of the assistant's message that stands before its row of tool messages. */
function callsBefore(messages: readonly ChatMessage[], index: number): ReadonlySet<string> {
  const asking = messages.slice(0, index).findLast((message) => message.role !== "tool");
  return new Set(asking?.role === "assistant" ? idsOf(asking) : []);
}

function emptyFault(message: AssistantMessage, index: number): string | null {
  const isEmpty = message.tool_calls === undefined && (message.content ?? "") === "";
  return isEmpty ? `Invalid value for 'content' of messages[${index}]: expected a string, got null.` : null;
}

function repeatFault(message: AssistantMessage, index: number, seen: Set<string>): string | null {
  for (const id of idsOf(message)) {
    if (seen.has(id)) return `Duplicate value for 'tool_call_id' of '${id}' (messages[${index}]).`;
    seen.add(id);
  }
  return null;
}

function answersFault(message: AssistantMessage, messages: readonly ChatMessage[], index: number): string | null {
  const rest = messages.slice(index + 1);
  const end = rest.findIndex(({ role }) => role !== "tool");
  const answered = rest
    .slice(0, end === -1 ? rest.length : end)
    .map((answer) => ("tool_call_id" in answer ? answer.tool_call_id : ""));
  const open = idsOf(message).filter((id) => !answered.includes(id));
  if (open.length > 0)
    return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`;
  const twice = answered.findIndex((id, at) => answered.indexOf(id) < at);
  return twice === -1 ? null : orphan(index + 1 + twice);
}

const orphan = (index: number): string =>
  `Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls' (messages[${index}]).`;
