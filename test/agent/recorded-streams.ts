/**
 * Streams as servers have been seen to send them (ACI-94), written down by hand and without anything private. Each must give
 * the answer beside it, whole and cut at any byte.
 */
export type RecordedStream = {
  readonly name: string;
  readonly text: string;
  readonly expected: {
    readonly content: string;
    readonly reasoning?: string;
    readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
    readonly finishReason: string;
    readonly usage: { readonly inputTokens: number; readonly outputTokens: number } | null;
  };
};

const line = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const delta = (value: unknown, finish: string | null = null): string =>
  line({
    id: "r1",
    object: "chat.completion.chunk",
    model: "m",
    choices: [{ index: 0, delta: value, finish_reason: finish }],
  });
const usage = { prompt_tokens: 100, completion_tokens: 7, total_tokens: 107 };
const done = "data: [DONE]\n\n";
const read = { id: "call_1", name: "read_file", arguments: '{"path":"src/ä€.ts"}' };

export const recordedStreams: readonly RecordedStream[] = [
  {
    name: "the plain form: role first, arguments in pieces, usage in a last chunk without choices",
    text:
      delta({ role: "assistant", content: null }) +
      delta({
        tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "read_file", arguments: "" } }],
      }) +
      delta({ tool_calls: [{ index: 0, function: { arguments: '{"path":"sr' } }] }) +
      delta({ tool_calls: [{ index: 0, function: { arguments: 'c/ä€.ts"}' } }] }) +
      delta({}, "tool_calls") +
      line({ id: "r1", choices: [], usage }) +
      done,
    expected: {
      content: "",
      toolCalls: [read],
      finishReason: "tool_calls",
      usage: { inputTokens: 100, outputTokens: 7 },
    },
  },
  {
    name: "no index at all, ids in each piece (ollama#7881)",
    text:
      delta({ tool_calls: [{ id: "a", function: { name: "find_files", arguments: '{"glob":"*"}' } }] }) +
      delta({ tool_calls: [{ id: "b", function: { name: "read_file", arguments: '{"path":' } }] }) +
      delta({ tool_calls: [{ id: "b", function: { arguments: '"x"}' } }] }, "tool_calls") +
      done,
    expected: {
      content: "",
      toolCalls: [
        { id: "a", name: "find_files", arguments: '{"glob":"*"}' },
        { id: "b", name: "read_file", arguments: '{"path":"x"}' },
      ],
      finishReason: "tool_calls",
      usage: null,
    },
  },
  {
    name: "null index, the later pieces without id (openai-python#2806)",
    text:
      delta({ tool_calls: [{ index: null, id: "a", function: { name: "read_file", arguments: '{"path":' } }] }) +
      delta({ tool_calls: [{ index: null, id: null, function: { arguments: '"x"}' } }] }) +
      delta({ tool_calls: [{ index: null, id: "b", function: { name: "read_file", arguments: '{"path":"y"}' } }] }) +
      delta({}, "tool_calls") +
      done,
    expected: {
      content: "",
      toolCalls: [
        { id: "a", name: "read_file", arguments: '{"path":"x"}' },
        { id: "b", name: "read_file", arguments: '{"path":"y"}' },
      ],
      finishReason: "tool_calls",
      usage: null,
    },
  },
  {
    name: "index 0 for every call (ollama#7881)",
    text:
      delta({ tool_calls: [{ index: 0, id: "a", function: { name: "read_file", arguments: '{"path":"x"}' } }] }) +
      delta({ tool_calls: [{ index: 0, id: "b", function: { name: "read_file", arguments: '{"path":' } }] }) +
      delta({ tool_calls: [{ index: 0, function: { arguments: '"y"}' } }] }, "stop") +
      done,
    expected: {
      content: "",
      toolCalls: [
        { id: "a", name: "read_file", arguments: '{"path":"x"}' },
        { id: "b", name: "read_file", arguments: '{"path":"y"}' },
      ],
      finishReason: "stop",
      usage: null,
    },
  },
  {
    name: "empty ids and no index: a name after whole arguments opens the next call (llama.cpp#11992)",
    text:
      delta({
        tool_calls: [
          { id: "", function: { name: "read_file", arguments: '{"path":"x"}' } },
          { id: "", function: { name: "read_file", arguments: '{"path":"y"}' } },
        ],
      }) +
      delta({}, "tool_calls") +
      done,
    expected: {
      content: "",
      toolCalls: [
        { id: "", name: "read_file", arguments: '{"path":"x"}' },
        { id: "", name: "read_file", arguments: '{"path":"y"}' },
      ],
      finishReason: "tool_calls",
      usage: null,
    },
  },
  {
    name: "pieces of two calls by turns, told apart by their index alone",
    text:
      delta({
        tool_calls: [
          { index: 0, id: "a", function: { name: "read_file", arguments: '{"path"' } },
          { index: 1, id: "b", function: { name: "find_files", arguments: '{"glob"' } },
        ],
      }) +
      delta({
        tool_calls: [
          { index: 1, function: { arguments: ':"*"}' } },
          { index: 0, function: { arguments: ':"x"}' } },
        ],
      }) +
      delta({}, "tool_calls") +
      done,
    expected: {
      content: "",
      toolCalls: [
        { id: "a", name: "read_file", arguments: '{"path":"x"}' },
        { id: "b", name: "find_files", arguments: '{"glob":"*"}' },
      ],
      finishReason: "tool_calls",
      usage: null,
    },
  },
  {
    name: "pieces of two calls by turns, told apart by their position alone",
    text:
      delta({
        tool_calls: [
          { id: "a", function: { name: "read_file", arguments: '{"path"' } },
          { id: "b", function: { name: "find_files", arguments: '{"glob"' } },
        ],
      }) +
      delta({ tool_calls: [{ function: { arguments: ':"x"}' } }, { function: { arguments: ':"*"}' } }] }) +
      delta({}, "tool_calls") +
      done,
    expected: {
      content: "",
      toolCalls: [
        { id: "a", name: "read_file", arguments: '{"path":"x"}' },
        { id: "b", name: "find_files", arguments: '{"glob":"*"}' },
      ],
      finishReason: "tool_calls",
      usage: null,
    },
  },
  {
    name: "arguments before the function's name (vercel/ai#15879)",
    text:
      delta({ tool_calls: [{ index: 0, id: "call_1", function: { arguments: '{"path":"src/' } }] }) +
      delta({ tool_calls: [{ index: 0, function: { name: "read_file" } }] }) +
      delta({ tool_calls: [{ index: 0, function: { arguments: 'ä€.ts"}' } }] }) +
      delta({}, "tool_calls") +
      done,
    expected: { content: "", toolCalls: [read], finishReason: "tool_calls", usage: null },
  },
  {
    name: "the name repeated in each piece",
    text:
      delta({ tool_calls: [{ index: 0, id: "call_1", function: { name: "read_file", arguments: '{"path":"src/' } }] }) +
      delta({ tool_calls: [{ index: 0, function: { name: "read_file", arguments: 'ä€.ts"}' } }] }) +
      delta({}, "tool_calls") +
      done,
    expected: { content: "", toolCalls: [read], finishReason: "tool_calls", usage: null },
  },
  {
    name: "arguments as an object, and a call with none at all",
    text:
      delta({ tool_calls: [{ index: 0, id: "a", function: { name: "read_file", arguments: { path: "x" } } }] }) +
      delta({ tool_calls: [{ index: 1, id: "b", function: { name: "run_tests" } }] }) +
      delta({}, "tool_calls") +
      done,
    expected: {
      content: "",
      toolCalls: [
        { id: "a", name: "read_file", arguments: '{"path":"x"}' },
        { id: "b", name: "run_tests", arguments: "{}" },
      ],
      finishReason: "tool_calls",
      usage: null,
    },
  },
  {
    name: "arguments cut at the limit while the reason says stop (qwen-code#2021)",
    text:
      delta({
        tool_calls: [
          {
            index: 0,
            id: "c",
            function: { name: "create_file", arguments: '{"path":"a.ts","content":"half of the fi' },
          },
        ],
      }) +
      delta({}, "stop") +
      done,
    expected: {
      content: "",
      toolCalls: [{ id: "c", name: "create_file", arguments: '{"path":"a.ts","content":"half of the fi' }],
      finishReason: "stop",
      usage: null,
    },
  },
  {
    name: "choices empty at first, a choice without delta, null usage on the way (vercel/ai#15036, llama.cpp#15444)",
    text:
      line({ id: "r1", model: "m", choices: [], usage: null }) +
      line({ id: "r1", choices: [{ index: 0, finish_reason: null }], usage: null }) +
      delta({ content: "Hal" }) +
      delta({ content: "lo" }) +
      line({ id: "r1", choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage }) +
      line({ id: "r1", choices: [], usage: null }) +
      done,
    expected: { content: "Hallo", toolCalls: [], finishReason: "stop", usage: { inputTokens: 100, outputTokens: 7 } },
  },
  {
    name: "comments that keep the connection alive, CRLF line ends, and no last line",
    text: `: OPENROUTER PROCESSING\r\n\r\n${delta({ content: "Hallo" }, "stop").replaceAll("\n", "\r\n")}`,
    expected: { content: "Hallo", toolCalls: [], finishReason: "stop", usage: null },
  },
  {
    name: "thoughts in a field of their own",
    text:
      delta({ reasoning_content: "I th" }) +
      delta({ reasoning_content: "ink" }) +
      delta({ content: "so" }, "stop") +
      done,
    expected: { content: "so", reasoning: "I think", toolCalls: [], finishReason: "stop", usage: null },
  },
  {
    name: "thoughts left in the text",
    text:
      delta({ content: "\n<thi" }) +
      delta({ content: "nk>I <b>think</" }) +
      delta({ content: "think>\n" }) +
      delta({ content: "\nso: <think> is a tag" }, "stop") +
      done,
    expected: {
      content: "so: <think> is a tag",
      reasoning: "I <b>think",
      toolCalls: [],
      finishReason: "stop",
      usage: null,
    },
  },
  {
    name: "no reason ever, only the last line",
    text: delta({ content: "Hallo" }) + done,
    expected: { content: "Hallo", toolCalls: [], finishReason: "unknown", usage: null },
  },
  {
    name: "two calls of one tool without arguments, told apart by their ids alone",
    text:
      delta({ tool_calls: [{ id: "a", function: { name: "run_tests" } }] }) +
      delta({ tool_calls: [{ id: "b", function: { name: "run_tests" } }] }, "tool_calls") +
      done,
    expected: {
      content: "",
      toolCalls: [
        { id: "a", name: "run_tests", arguments: "{}" },
        { id: "b", name: "run_tests", arguments: "{}" },
      ],
      finishReason: "tool_calls",
      usage: null,
    },
  },
  {
    name: "one event over two lines with CRLF line ends",
    text: 'data: {"choices":\r\ndata: [{"delta":{"content":"Hallo"},"finish_reason":"stop"}]}\r\n\r\n',
    expected: { content: "Hallo", toolCalls: [], finishReason: "stop", usage: null },
  },
];
