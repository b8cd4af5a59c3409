import { createHash, randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ActionState, actionStates, isLegalTransition, legalTransitions } from "../../src/domain/index.ts";
import { databaseRefusalOf, rebuildProjection, type Transaction } from "../../src/store/index.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
  await store.sql("insert into ledger_head (origin) values ('countersign/test')");
});
afterAll(() => store[Symbol.asyncDispose]());

type Fields = { readonly [name: string]: unknown };

/** A run's log: each entry gets the next numbers unless told otherwise. */
function aRun(runId: string = randomUUID()) {
  const bodyOf = async (tx: Transaction, fields: Fields): Promise<{ index: number; body: Buffer }> => {
    const { size } = await tx.selectFrom("ledger_head").select("size").executeTakeFirstOrThrow();
    const head = await tx
      .selectFrom("run_heads")
      .select("size")
      .where("run_id", "=", runId as never)
      .executeTakeFirst();
    const entry = {
      ...{ version: 1, id: randomUUID(), origin: "countersign/test", index: size, type: "action", runId },
      ...{ runSeq: head?.size ?? 0, attempt: 0, try: null, traceId: null, actionId: null, state: null },
      ...{
        decisionId: null,
        deliveryId: null,
        parentId: null,
        time: "2026-01-02T03:04:05.678Z",
        actor: { kind: "system" },
      },
      ...{ evidence: {}, ...fields },
    };
    return { index: size, body: Buffer.from(JSON.stringify(entry)) };
  };
  const insert = async (tx: Transaction, fields: Fields, fencingToken: number | null = null): Promise<void> => {
    const { index, body } = await bodyOf(tx, fields);
    const leaf_hash = createHash("sha256").update("\0").update(body).digest();
    await tx.insertInto("ledger_entries").values({ index, body, leaf_hash, fencing_token: fencingToken }).execute();
  };
  const append = (fields: Fields, fencingToken: number | null = null): Promise<void> =>
    store.transaction((tx) => insert(tx, fields, fencingToken));
  return { runId, bodyOf, append, within: (tx: Transaction) => ({ append: (fields: Fields) => insert(tx, fields) }) };
}

type Run = Pick<ReturnType<typeof aRun>, "append">;

/** One entry of an action, with the decision before it where the state needs one. */
async function enter(run: Run, action: { id: string; starts: number }, state: ActionState): Promise<void> {
  const decisionId = randomUUID();
  if (state === "authorized") {
    const evidence = { effect: "allow", policyIds: ["permit-reads"] };
    await run.append({ type: "decision", actionId: action.id, decisionId, evidence });
  }
  if (state === "started") action.starts += 1;
  await run.append({
    ...{ actionId: action.id, state, decisionId: state === "authorized" ? decisionId : null },
    ...{ try: state === "started" ? action.starts : null, evidence: state === "proposed" ? { tool: "read_file" } : {} },
  });
}

/** The shortest legal way to a state. */
function wayTo(state: ActionState): readonly ActionState[] {
  const ways: (readonly ActionState[])[] = [[]];
  for (const way of ways) {
    if (way.at(-1) === state) return way;
    for (const next of legalTransitions.get(way.at(-1) ?? null) ?? []) {
      if (!way.includes(next)) ways.push([...way, next]);
    }
  }
  throw new Error(`no way to ${state}`);
}

const refusalOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "accepted",
    (error: unknown) => databaseRefusalOf(error) ?? error,
  );

describe("state changes (AUD-3)", () => {
  it("has the domain's legal pairs as rows, and no others", async () => {
    const rows = await store.db.selectFrom("legal_transitions").selectAll().execute();

    const pairs = [...legalTransitions].flatMap(([from, states]) => states.map((to) => `${from} ${to}`));
    expect(rows.map(({ from_state, to_state }) => `${from_state} ${to_state}`).sort()).toEqual(pairs.sort());
  });

  it.each([null, ...actionStates])("accepts from %s the legal states and refuses all others", async (from) => {
    const answers: unknown[] = [];

    // One transaction, rolled back: twenty times twenty durable ones would take a minute.
    const rolledBack = store.transaction(async (tx) => {
      const run = aRun().within(tx);
      for (const to of actionStates) {
        const action = { id: randomUUID(), starts: 0 };
        for (const state of from === null ? [] : wayTo(from)) await enter(run, action, state);
        await store.sql("savepoint before", [], tx);
        answers.push([to, await refusalOf(enter(run, action, to))]);
        await store.sql("rollback to before", [], tx);
      }
      throw new Error("enough");
    });

    await expect(rolledBack).rejects.toThrow("enough");
    expect(answers).toEqual(
      actionStates.map((to) => [to, isLegalTransition(from, to) ? "accepted" : "illegal_transition"]),
    );
  });

  it("refuses to carry an action into another run", async () => {
    const action = { id: randomUUID(), starts: 0 };
    await enter(aRun(), action, "proposed");

    expect(await refusalOf(enter(aRun(), action, "invalid"))).toBe("illegal_transition");
  });

  it("refuses a try that isn't the next one", async () => {
    const run = aRun();
    const action = { id: randomUUID(), starts: 0 };
    for (const state of wayTo("intent_recorded")) await enter(run, action, state);

    expect(await refusalOf(run.append({ actionId: action.id, state: "started", try: 2 }))).toBe("not_next");
    expect(await refusalOf(run.append({ actionId: action.id, state: "started", try: 1 }))).toBe("accepted");
  });
});

describe("no effect without what must come before it (AUD-5)", () => {
  it("refuses authorized without a decision, with another action's, and with one that denies", async () => {
    const run = aRun();
    const [mine, other] = [
      { id: randomUUID(), starts: 0 },
      { id: randomUUID(), starts: 0 },
    ];
    await enter(run, mine, "proposed");
    await enter(run, other, "proposed");
    const decide = async (actionId: string, effect: string): Promise<string> => {
      const decisionId = randomUUID();
      await run.append({ type: "decision", actionId, decisionId, evidence: { effect, policyIds: [] } });
      return decisionId;
    };
    const authorize = (decisionId: string | null): Promise<unknown> =>
      run.append({ actionId: mine.id, state: "authorized", decisionId });

    await expect(authorize(null)).rejects.toMatchObject({ column: "decision_id" });
    await expect(authorize(randomUUID())).rejects.toMatchObject({ constraint: "authorizations_decision" });
    const ofOther = await decide(other.id, "allow");
    await expect(authorize(ofOther)).rejects.toMatchObject({ constraint: "authorizations_decision" });
    const denial = await decide(mine.id, "deny");
    await expect(authorize(denial)).rejects.toMatchObject({ constraint: "authorizations_decision" });
    await expect(authorize(await decide(mine.id, "allow"))).resolves.toBeUndefined();
  });

  it("refuses intents and starts written past the ledger", async () => {
    const id = randomUUID();

    const intent = store.sql("insert into intents (action_id, entry_index) values ($1, 0)", [id]);
    await expect(intent).rejects.toMatchObject({ constraint: "intents_authorization" });
    const start = store.sql("insert into starts (action_id, try, entry_index) values ($1, 1, 0)", [id]);
    await expect(start).rejects.toMatchObject({ constraint: "starts_intent" });
  });

  it("refuses a decision about nothing that was proposed, or about what another run proposed", async () => {
    const [run, other] = [aRun(), aRun()];
    const action = { id: randomUUID(), starts: 0 };
    await enter(run, action, "proposed");
    const evidence = { effect: "allow", policyIds: [] };
    const decide = (by: Run, actionId: string): Promise<unknown> =>
      refusalOf(by.append({ type: "decision", actionId, decisionId: randomUUID(), evidence }));

    expect(await decide(run, randomUUID())).toBe("illegal_transition");
    expect(await decide(other, action.id)).toBe("illegal_transition");
    expect(await decide(run, action.id)).toBe("accepted");
  });

  it("keeps the decision with its effect and policies", async () => {
    const run = aRun();
    const action = { id: randomUUID(), starts: 0 };
    for (const state of wayTo("authorized")) await enter(run, action, state);

    const rows = await store.db
      .selectFrom("decisions")
      .selectAll()
      .where("action_id", "=", action.id as never)
      .execute();

    expect(rows).toMatchObject([{ effect: "allow", policy_ids: ["permit-reads"] }]);
  });
});

describe("the log (AUD-3)", () => {
  it.each([
    ["update ledger_entries set fencing_token = 1"],
    ["delete from ledger_entries"],
    ["truncate ledger_entries cascade"],
    ["update ledger_entries set body = body where false"],
    ["delete from ledger_nodes"],
    ["delete from decisions"],
    ["update authorizations set effect = effect"],
    ["truncate starts"],
    ["delete from approval_uses"],
    ["delete from legal_transitions"],
  ])("refuses `%s`", async (statement) => {
    expect(await refusalOf(store.sql(statement))).toBe("append_only");
  });

  it("is dense: refuses an index or run_seq that is taken, or leaves a gap", async () => {
    const run = aRun();
    await run.append({ type: "run" });
    const put = (change: number): Promise<unknown> =>
      store.transaction(async (tx) => {
        const { index, body } = await run.bodyOf(tx, { type: "run" });
        const leaf_hash = createHash("sha256").update("\0").update(body).digest();
        await tx
          .insertInto("ledger_entries")
          .values({ index: index + change, body, leaf_hash, fencing_token: null })
          .execute();
      });

    expect(await refusalOf(put(1))).toBe("not_next");
    expect(await refusalOf(put(-1))).toBe("not_next");
    expect(await refusalOf(run.append({ type: "run", runSeq: 0 }))).toBe("not_next");
    expect(await refusalOf(run.append({ type: "run", runSeq: 2 }))).toBe("not_next");
    expect(await refusalOf(put(0))).toBe("accepted");
  });

  it.each([
    ["another origin", { origin: "countersign/other" }],
    ["another index", { index: 77_777 }],
    ["another version", { version: 2 }],
    ["a time that is none", { time: "yesterday" }],
    ["an id that is none", { id: "1" }],
  ])("refuses a body with %s", async (_, fields) => {
    expect(await refusalOf(aRun().append({ type: "run", ...fields }))).toBe("bad_body");
  });

  it("refuses a body over 16 KiB, a wrong leaf hash, and bytes that are no JSON", async () => {
    const run = aRun();
    const put = (change: { body?: Buffer; leaf_hash?: Buffer }): Promise<unknown> =>
      store.transaction(async (tx) => {
        const { index, body } = await run.bodyOf(tx, { type: "run" });
        const leaf_hash = createHash("sha256")
          .update("\0")
          .update(change.body ?? body)
          .digest();
        await tx
          .insertInto("ledger_entries")
          .values({ index, body, leaf_hash, fencing_token: null, ...change })
          .execute();
      });

    const large = run.append({ type: "run", evidence: { text: "x".repeat(16_384) } });
    await expect(large).rejects.toMatchObject({ constraint: "ledger_entries_body_check" });
    const wrongHash = put({ leaf_hash: Buffer.alloc(32) });
    await expect(wrongHash).rejects.toMatchObject({ constraint: "ledger_entries_leaf_hash" });
    expect(await refusalOf(put({ body: Buffer.from([0xff, 0xfe]) }))).toBe("bad_body");
    expect(await refusalOf(put({ body: Buffer.from("[]") }))).toBe("bad_body");
  });

  it("fills the copies for search from the body", async () => {
    const run = aRun();
    const fields = { type: "turn", traceId: "0123456789abcdef0123456789abcdef", attempt: 3, deliveryId: "d-1" };
    await run.append(fields, 4);

    const row = await store.db
      .selectFrom("ledger_entries")
      .selectAll()
      .where("run_id", "=", run.runId as never)
      .executeTakeFirstOrThrow();

    expect(row).toMatchObject({ type: "turn", trace_id: fields.traceId, attempt: 3, delivery_id: "d-1" });
    expect(row).toMatchObject({ run_seq: 0, fencing_token: 4, time: "2026-01-02T03:04:05.678Z" });
    expect(JSON.parse(row.body.toString())).toMatchObject({ id: row.id, index: row.index });
  });
});

describe("fencing (AUD-7)", () => {
  it("refuses a token lower than the newest of the run, as a lost lease", async () => {
    const run = aRun();
    await run.append({ type: "run" }, 5);

    await expect(run.append({ type: "run" }, 4)).rejects.toMatchObject({ code: "LEDGER_CONFLICT" });
    await expect(run.append({ type: "run" }, 5)).resolves.toBeUndefined();
    await expect(run.append({ type: "run" }, null)).resolves.toBeUndefined();
    await expect(run.append({ type: "run" }, 4)).rejects.toMatchObject({ code: "LEDGER_CONFLICT" });
  });

  it("refuses what leads to an effect where it comes without the token of the run's lease", async () => {
    const run = aRun();
    await run.append({ type: "run" }, 5);
    const actionId = randomUUID();
    await run.append({ actionId, state: "proposed", evidence: { tool: "read_file" } }, 5);
    const decisionId = randomUUID();
    await run.append({ type: "decision", actionId, decisionId, evidence: { effect: "allow", policyIds: [] } }, 5);
    const authorize = (token: number | null) => run.append({ actionId, state: "authorized", decisionId }, token);

    await expect(authorize(null)).rejects.toMatchObject({ code: "LEDGER_CONFLICT" });
    await expect(authorize(5)).resolves.toBeUndefined();
    await expect(run.append({ actionId, state: "cancelled" }, null)).resolves.toBeUndefined();
  });

  it("refuses a token lower than that of the lease in `runs`", async () => {
    const run = aRun();
    await store.sql(
      `insert into runs (run_id, trace_id, repository_id, repository_name, requester_id, requester_login,
        requester_permission, base_sha, status, fencing_token, started_at, limits)
       values ($1, $2, 'local:0', 'r', '1', 'l', 'write', 'a', 'in_progress', 7, now(), '{}')`,
      [run.runId, randomUUID().replaceAll("-", "")],
    );

    await expect(run.append({ type: "run" }, 6)).rejects.toMatchObject({ code: "LEDGER_CONFLICT" });
    await expect(run.append({ type: "run" }, 7)).resolves.toBeUndefined();
  });
});

describe("the projection (AUD-2)", () => {
  it("is the same after being rebuilt from the ledger", async () => {
    const run = aRun();
    const walk = async (choices: readonly number[]): Promise<void> => {
      const action = { id: randomUUID(), starts: 0 };
      let state: ActionState | null = null;
      for (const choice of choices) {
        const next: readonly ActionState[] = legalTransitions.get(state) ?? [];
        state = next[choice % next.length] ?? null;
        if (state === null) return;
        await enter(run, action, state);
      }
    };
    const property = fc.asyncProperty(fc.array(fc.nat(), { minLength: 1, maxLength: 12 }), walk);
    await fc.assert(property, { numRuns: 20 });
    const read = () => store.db.selectFrom("actions").selectAll().orderBy("action_id").execute();
    const before = await read();

    await store.transaction(async (tx) => {
      await rebuildProjection(tx);
      await tx.selectFrom("actions").select("state").execute();
    });

    expect(before.length).toBeGreaterThan(8);
    expect(await read()).toEqual(before);
  });

  it("is made anew where it was spoiled", async () => {
    const before = await store.db.selectFrom("actions").selectAll().orderBy("action_id").execute();
    await store.sql("update actions set state = 'denied', try = 9");

    await store.transaction(rebuildProjection);

    const after = await store.db.selectFrom("actions").selectAll().orderBy("action_id").execute();
    expect(after).toEqual(before);
  });
});
