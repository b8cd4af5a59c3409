import { z } from "zod";

/**
 * What we use of a streamed chunk, or of a whole answer (`message` instead of `delta`). Servers differ, so each field that
 * is missing, null or of another type counts as not there (ACI-94).
 */
const text = z.string().nullish().catch(null);
const count = z.number().int().nonnegative().nullish().catch(null);

const CallDelta = z.object({
  index: count,
  id: text,
  function: z
    .object({
      name: text,
      arguments: z
        .union([z.string(), z.record(z.string(), z.json())])
        .nullish()
        .catch(null),
    })
    .nullish()
    .catch(null),
});

const Parts = z.array(z.object({ text }));

const Delta = z.object({
  content: z.union([z.string(), Parts]).nullish().catch(null),
  reasoning_content: text,
  reasoning: text,
  refusal: text,
  tool_calls: z.array(CallDelta).nullish().catch(null),
});

const Choice = z.object({
  delta: Delta.nullish().catch(null),
  message: Delta.nullish().catch(null),
  finish_reason: text,
});

export const Chunk = z.object({
  id: text,
  model: text,
  choices: z.array(Choice).nullish().catch(null),
  usage: z.object({ prompt_tokens: count, completion_tokens: count }).nullish().catch(null),
});
export type Chunk = z.infer<typeof Chunk>;
export type CallDelta = z.infer<typeof CallDelta>;
export type Delta = z.infer<typeof Delta>;

/** The text of a content that is a string or a list of parts. */
export function textOf(content: Delta["content"]): string {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("");
}
