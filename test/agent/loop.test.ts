import { describe, expect, test } from "vitest";
import { stopReasonOf, withTurn } from "../../src/agent/index.ts";
import { type ApprovalId, CountersignError } from "../../src/domain/index.ts";
import { aLoop, anAnswer, anOpening, anOutcome, finish, lastAnswers } from "../support/loop.ts";

const read = (path: string) => anAnswer([["read_file", { path }]]);
const silent = anAnswer([]);
const talk = anAnswer([], { content: "I would change the sum." });

test("stores the answer before its first call, performs the calls, saves the turn, and only then asks again", async () => {
  const loop = aLoop([
    anAnswer([
      ["read_file", { path: "a" }],
      ["edit_file", { path: "a" }],
    ]),
    finish,
  ]);

  const end = await loop.run();

  expect(end).toEqual({ kind: "finished", summary: "was wrong, is right", title: "Mend it" });
  expect(loop.log).toEqual([
    "ask",
    "save answer 1",
    "perform read_file",
    "perform edit_file",
    "save turn 1",
    "ask",
    "save answer 2",
    "perform finish",
    "save turn 2",
  ]);
});

test("performs nothing of an answer that could not be stored", async () => {
  const down = new CountersignError("LEDGER_UNAVAILABLE", "no answer");
  const loop = aLoop([finish], { saveResponse: () => Promise.reject(down) });

  await expect(loop.run()).rejects.toBe(down);

  expect(loop.log).toEqual(["ask"]);
});

test("asks no more once a turn could not be saved", async () => {
  const down = new CountersignError("LEDGER_UNAVAILABLE", "no answer");
  const loop = aLoop([read("a"), finish], { saveTurn: () => Promise.reject(down) });

  await expect(loop.run()).rejects.toBe(down);

  expect(loop.requests).toHaveLength(1);
});

test("sends the whole of each request again at the beginning of the next, byte for byte", async () => {
  const loop = aLoop([
    read("a"),
    talk,
    anAnswer([
      ["search_text", { pattern: "x" }],
      ["edit_file", "{broken"],
    ]),
    silent,
    read("b"),
    finish,
  ]);

  await loop.run();

  const texts = loop.requests.map(({ messages, tools }) => JSON.stringify([tools, ...messages]).slice(0, -1));
  for (const [number, text] of texts.slice(0, -1).entries()) {
    expect(texts[number + 1]?.startsWith(text)).toBe(true);
  }
  expect(loop.requests).toHaveLength(6);
});

describe("limits (AT-21)", () => {
  test.each([
    { limit: "turns", limits: { turns: 2 }, asked: 2, reason: "limit_turns" },
    { limit: "input_tokens", limits: { inputTokens: 1000 }, asked: 3, reason: "limit_tokens" },
    { limit: "output_tokens", limits: { outputTokens: 8205 }, asked: 2, reason: "limit_tokens" },
  ] as const)("$limit is seen before the call that would pass it", async ({ limit, limits, asked, reason }) => {
    const usage = { inputTokens: 250, outputTokens: 10, estimated: false };
    const loop = aLoop(Array(5).fill(anAnswer([["read_file", { path: "a" }]], { usage })), { limits });

    const end = await loop.run();

    expect(end).toEqual({ kind: "out_of_budget", limit });
    expect(loop.requests).toHaveLength(asked);
    expect(stopReasonOf(end)).toBe(reason);
  });

  test("time is seen before the next call", async () => {
    let minutes = 0;
    const perform = (call: Parameters<typeof anOutcome>[0]) => {
      minutes = 60;
      return Promise.resolve(anOutcome(call));
    };
    const loop = aLoop([read("a"), finish], { minutes: () => minutes, perform });

    const end = await loop.run();

    expect(end).toEqual({ kind: "out_of_budget", limit: "time" });
    expect(stopReasonOf(end)).toBe("limit_time");
    expect(loop.requests).toHaveLength(1);
  });

  test("what dropped answers of the model used counts too", async () => {
    const discarded = { attempts: 1, inputTokens: 5000, outputTokens: 0 };
    const first = anAnswer([["read_file", { path: "a" }]], { discarded });
    const loop = aLoop([first, finish], { limits: { inputTokens: 5200 } });

    expect(await loop.run()).toEqual({ kind: "out_of_budget", limit: "input_tokens" });
  });

  test("at 80 % the model is told once what is left, below the last answer", async () => {
    const loop = aLoop([...Array.from({ length: 9 }, (_, turn) => read(`file-${turn}`)), finish], {
      limits: { turns: 10 },
    });

    await loop.run();

    const told = loop.requests.map((request) => lastAnswers(request).join().includes("Limits: 2 turns left"));
    expect(told).toEqual([false, false, false, false, false, false, false, false, true, false]);
  });
});

describe("a reply without a tool call", () => {
  test("is answered with how to finish, and the third in a row ends the loop", async () => {
    const loop = aLoop([talk, talk, talk]);

    const end = await loop.run();

    expect(end).toEqual({ kind: "no_action" });
    expect(lastAnswers(loop.requests[1]).join()).toContain("call finish with a summary and a title");
    expect(lastAnswers(loop.requests[2])).toEqual(["Call a tool, or finish."]);
  });

  test("counts from the start again after a call", async () => {
    const loop = aLoop([talk, talk, read("a"), talk, talk, finish]);

    expect((await loop.run()).kind).toBe("finished");
  });

  test("is asked again once without a word where it is empty, then answered", async () => {
    const loop = aLoop([silent, silent, finish]);

    await loop.run();

    expect(loop.requests[1]).toEqual(loop.requests[0]);
    expect(lastAnswers(loop.requests[2]).at(-1)).toContain("call finish");
  });

  test("that only thinks is answered at once", async () => {
    const loop = aLoop([anAnswer([], { reasoning: "Hm." }), finish]);

    await loop.run();

    expect(lastAnswers(loop.requests[1]).at(-1)).toContain("does not end the work");
  });

  test("that reached the output limit is told so", async () => {
    const loop = aLoop([anAnswer([], { reasoning: "Hm", finishReason: "length" }), finish]);

    await loop.run();

    expect(lastAnswers(loop.requests[1]).at(-1)).toContain("reached the output limit");
  });

  test.each([
    { name: "in the protocol's field", changes: { refusal: "I can't help with that." } },
    { name: "by a content filter", changes: { finishReason: "content_filter", content: "I can't help with that." } },
  ] as const)("that refuses $name is not asked again", async ({ changes }) => {
    const loop = aLoop([anAnswer([], changes)]);

    expect(await loop.run()).toEqual({ kind: "model_refused", text: "I can't help with that." });
    expect(loop.requests).toHaveLength(1);
  });
});

describe("finish", () => {
  test("without a change is sent back once and then ends as nothing to do", async () => {
    const loop = aLoop([finish, read("a"), finish], { hasChanges: () => Promise.resolve(false) });

    const end = await loop.run();

    expect(end).toEqual({ kind: "nothing_to_do", summary: "was wrong, is right", title: "Mend it" });
    expect(lastAnswers(loop.requests[1]).join()).toContain("Is no change meant?");
    expect(loop.log.filter((entry) => entry === "perform finish")).toHaveLength(1);
  });

  test("without a change is sent back once also where it is called twice in one turn", async () => {
    const twice = anAnswer([
      ["finish", { summary: "s", title: "t" }],
      ["finish", { summary: "s", title: "t" }],
    ]);
    const loop = aLoop([twice, twice], { hasChanges: () => Promise.resolve(false) });

    await loop.run();

    expect(loop.requests).toHaveLength(2);
    expect(lastAnswers(loop.requests[1])).toHaveLength(2);
  });

  test("that the gateway refuses does not end the loop", async () => {
    const perform = (call: Parameters<typeof anOutcome>[0]) =>
      Promise.resolve(anOutcome(call, call.turn === 1 ? { status: "refused", state: "invalid" } : {}));
    const loop = aLoop([finish, finish], { perform });

    expect((await loop.run()).kind).toBe("finished");
    expect(loop.requests).toHaveLength(2);
  });
});

describe("an abort", () => {
  test("during a call answers the open calls, saves the turn and throws the reason; nothing more starts", async () => {
    const controller = new AbortController();
    const reason = new CountersignError("ABORTED", "stopped");
    const perform = (call: Parameters<typeof anOutcome>[0]) => {
      controller.abort(reason);
      return Promise.resolve(anOutcome(call, { state: "cancelled", status: "refused", text: "cancelled" }));
    };
    const loop = aLoop(
      [
        anAnswer([
          ["run_command", { command: "x" }],
          ["edit_file", { path: "a" }],
        ]),
        finish,
      ],
      { perform },
    );

    await expect(loop.run(controller.signal)).rejects.toBe(reason);

    expect(loop.log).toEqual(["ask", "save answer 1", "perform run_command", "save turn 1"]);
    expect(loop.turns[0]?.results.map(({ message }) => message.content.text)).toEqual([
      "cancelled",
      expect.stringContaining("not executed (cancelled)"),
    ]);
  });

  test("during the model's answer throws the reason", async () => {
    const controller = new AbortController();
    const reason = new CountersignError("ABORTED", "stopped");
    const model = () => {
      controller.abort(reason);
      return Promise.reject(reason);
    };

    await expect(aLoop([], { model }).run(controller.signal)).rejects.toBe(reason);
  });

  test("before the first turn asks nothing", async () => {
    const reason = new CountersignError("ABORTED", "stopped");
    const loop = aLoop([finish]);

    await expect(loop.run(AbortSignal.abort(reason))).rejects.toBe(reason);

    expect(loop.log).toEqual([]);
  });
});

test("waits for an approval, and goes on with the same answer and place where it stood", async () => {
  const places: string[] = [];
  let isDecided = false;
  const perform = (call: Parameters<typeof anOutcome>[0]) => {
    places.push(`${call.name} ${call.turn}.${call.ordinal} ${call.toolCallId}`);
    if (call.name !== "run_command" || isDecided) return Promise.resolve(anOutcome(call));
    const approvalId = "ap1" as ApprovalId;
    return Promise.resolve(anOutcome(call, { state: "approval_pending", status: "refused", approvalId }));
  };
  const answer = anAnswer([
    ["read_file", { path: "a" }],
    ["run_command", { command: "x" }, "call_9"],
    ["edit_file", {}],
  ]);
  const loop = aLoop([answer, finish], { perform });

  const paused = await loop.run();
  const [waiting] = loop.turns;
  if (waiting === undefined) throw new Error("no turn was saved");
  const restored = withTurn(anOpening(), JSON.parse(JSON.stringify(waiting)));
  isDecided = true;
  const end = await loop.run(new AbortController().signal, restored);

  expect(paused).toEqual({ kind: "waiting", approvalId: "ap1" });
  expect(stopReasonOf(paused)).toBeNull();
  expect(end.kind).toBe("finished");
  expect(places).toEqual([
    "read_file 1.0 c00010000",
    "run_command 1.1 call_9",
    "run_command 1.1 call_9",
    "edit_file 1.2 c00010002",
    "finish 2.0 c00020000",
  ]);
  expect(loop.requests).toHaveLength(2);
  expect(loop.responses.map(({ turn }) => turn)).toEqual([1, 2]);
  expect(loop.turns.map(({ number, kind }) => `${number} ${kind}`)).toEqual(["1 waiting", "1 going_on", "2 ended"]);
});

test("goes on from saved turns with the very request that was due", async () => {
  const whole = aLoop([read("a"), talk, read("b"), finish]);
  await whole.run();

  const saved = whole.turns.slice(0, 2).map((turn) => JSON.parse(JSON.stringify(turn)));
  const rest = aLoop([read("b"), finish]);
  await rest.run(new AbortController().signal, saved.reduce(withTurn, anOpening()));

  expect(JSON.stringify(rest.requests)).toBe(JSON.stringify(whole.requests.slice(2)));
});

test("ends as exhausted where not even the opening fits the model's context", async () => {
  const end = await aLoop([], { contextTokens: 9000, maxOutputTokens: 8900 }).run();

  expect(end).toEqual({ kind: "context_exhausted" });
  expect(stopReasonOf(end)).toBe("context_exhausted");
});
