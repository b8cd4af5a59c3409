import { assertNever } from "../domain/index.ts";
import { dataBlock } from "./data-block.ts";
import type { Message, ToolDefinition } from "./model.ts";

/** The messages of the chat completions protocol that we write. */
export type WireMessage =
  | { role: "system" | "user"; content: string }
  | { role: "assistant"; content: string | null; tool_calls?: WireCall[] }
  | { role: "tool"; tool_call_id: string; content: string };
export type WireCall = { id: string; type: "function"; function: { name: string; arguments: string } };
export type WireTool = {
  type: "function";
  function: { name: string; description: string; parameters: Record<string, unknown> };
};

/** The same message always gives the same bytes: the prefix of a request depends on it (ACI-85). */
export function toWireMessage(message: Message): WireMessage {
  switch (message.kind) {
    case "system":
    case "user":
      return { role: message.kind, content: message.text };
    case "assistant": {
      if (message.toolCalls.length === 0) return { role: "assistant", content: message.text };
      const calls = message.toolCalls.map(({ id, name, arguments: text }): WireCall => {
        return { id, type: "function", function: { name, arguments: text } };
      });
      // Null, as the protocol has it for a message of calls alone; an empty text is refused by some servers.
      return { role: "assistant", content: message.text === "" ? null : message.text, tool_calls: calls };
    }
    case "tool": {
      const notice = message.notice === null ? "" : `\n\n${message.notice}`;
      return {
        role: "tool",
        tool_call_id: message.toolCallId,
        content: dataBlock(message.content, message.delimiter) + notice,
      };
    }
    default:
      return assertNever(message);
  }
}

export function toWireTool({ name, description, parameters }: ToolDefinition): WireTool {
  return { type: "function", function: { name, description, parameters: { ...parameters } } };
}
