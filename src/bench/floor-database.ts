import { Client } from "pg";

/** The driver alone, over one connection: a commit is one insert of these bytes. */
export type FloorDatabase = AsyncDisposable & {
  readonly url: string;
  commit(bytes: Uint8Array): Promise<void>;
  query<Row>(text: string, values: readonly unknown[]): Promise<readonly Row[]>;
};

/** About what an entry of the ledger and the text sealed with it have. */
export const committedBytes = Buffer.alloc(1024, "countersign ");

export async function openFloorDatabase(url: string): Promise<FloorDatabase> {
  const client = new Client({ connectionString: url });
  client.on("error", () => undefined); // whoever uses it gets the error from the query
  await client.connect();
  await client.query("create table if not exists bench_floor (id bigint generated always as identity, body bytea)");
  return {
    url,
    commit: async (bytes) => {
      await client.query({ name: "floor", text: "insert into bench_floor (body) values ($1)", values: [bytes] });
    },
    query: async (text, values) => (await client.query(text, [...values])).rows,
    [Symbol.asyncDispose]: () => client.end(),
  };
}
