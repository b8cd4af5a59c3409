import { Kysely, PostgresDialect, type PostgresPoolClient } from "kysely";
import { Client, DatabaseError, Pool, type PoolClient, type QueryConfig, types } from "pg";
import { CountersignError } from "../domain/index.ts";
import { createAbandonedStatements } from "./abandoned-statements.ts";
import type { Database } from "./database.ts";
import { databaseRefusals } from "./refusals.ts";
import { type Dial, givesSign, type WhileAlive, watchLife } from "./sign-of-life.ts";

/** How long one attempt to connect may take, the log-in included. */
export const connectTimeoutMs = 5_000;
/** No statement of ours takes longer, the server being alive. */
const queryTimeoutMs = 60_000;
/** How long a disk may take to make a few kilobytes durable: a busy one stalls for seconds, one that hangs does it for ever. */
export const writeTimeoutMs = 10_000;
const poolSize = 10;

const int8 = 20;
const timestamptz = 1184;

function toSafeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`\`${text}\` does not fit a number`);
  return value;
}

const toTime = types.getTypeParser(timestamptz);
/** For this pool alone: `pg`'s own table is shared by the whole process. */
const parsers: NonNullable<ConstructorParameters<typeof Pool>[0]>["types"] = {
  getTypeParser(oid: number, format?: "text" | "binary") {
    if (format !== "binary" && oid === int8) return toSafeInteger;
    if (format !== "binary" && oid === timestamptz) return (text: string) => toTime(text).toISOString();
    return format === "binary" ? types.getTypeParser(oid, format) : types.getTypeParser(oid, "text");
  },
};

/** Where the server is, without user and password: for messages and logs. */
export type Address = { readonly text: string; readonly host: string; readonly dial: Dial };

/** Throws `CONFIG_INVALID`, without the value: it holds a password. */
export function addressOf(databaseUrl: string): Address {
  try {
    if (!/^postgres(ql)?:\/\//.test(databaseUrl)) throw new Error("no such scheme");
    const { host, port, database } = new Client({ connectionString: databaseUrl });
    const dial = host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
    return { text: `postgresql://${host}:${port}/${database ?? ""}`, host: `${host}:${port}`, dial };
  } catch {
    // biome-ignore lint/style/useErrorCause: the cause quotes the address with its password
    throw new CountersignError("CONFIG_INVALID", "`DATABASE_URL` is no address of a PostgreSQL server", {
      remedy: "set DATABASE_URL to a value such as `postgresql://user:password@host:5432/countersign`",
    });
  }
}

/** Classes and codes of SQLSTATE (PostgreSQL documentation, appendix A) that say nothing about the statement itself. */
const unavailable = /^(08|53|57P|58|XX|40001$|40P01$|25006$|55P03$|28)/;

/**
 * The one place where errors of `pg` become ours: no answer is `LEDGER_UNAVAILABLE`, a lost lease `LEDGER_CONFLICT`.
 * What the server says about a statement goes through as it is: it is a bug, or a rule the caller asks about.
 */
function translate(error: unknown, address: Address): unknown {
  if (error instanceof TypeError || error instanceof RangeError) return error;
  if (!(error instanceof DatabaseError)) {
    return new CountersignError("LEDGER_UNAVAILABLE", `no answer from the database at \`${address.host}\``, {
      cause: error,
    });
  }
  if (error.code === databaseRefusals.stale_fencing_token) {
    return new CountersignError("LEDGER_CONFLICT", "this worker no longer has the run", { cause: error });
  }
  if (!unavailable.test(error.code ?? "")) return error;
  const message = `the database at \`${address.host}\` can't work: ${error.message}`;
  return new CountersignError("LEDGER_UNAVAILABLE", message, {
    cause: error,
    details: { sqlstate: error.code ?? "" },
    ...(error.code === "53100" ? { remedy: "free space on the database's disk and start again" } : {}),
  });
}

/** SQLSTATE after which the server has closed the connection: it was ended, or the server stops. */
const sessionEnded = /^(08|57P)/;

/** What the driver's adapter and the migrations need of a pool. */
export type ConnectionPool = {
  /** `statementMs`: how long a statement may take; a minute where nothing is said. */
  connect(statementMs?: number): Promise<PostgresPoolClient>;
  end(): Promise<void>;
  readonly options: object;
};

/** A pool whose errors are translated and whose broken connections are not used again. Connects when first asked. */
export function createPool(databaseUrl: string, address: Address): ConnectionPool {
  const pool = new Pool({
    connectionString: databaseUrl,
    max: poolSize,
    types: parsers,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    application_name: "countersign",
  });
  // A connection that breaks, idle or in use, is an event first: unheard, it would end the process. Whoever uses it gets
  // the error from its query; an idle one is taken out by the pool.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  const whileAlive = watchLife(() => givesSign(address.dial));
  const abandoned = createAbandonedStatements();
  const wrap = (error: unknown): never => {
    throw translate(error, address);
  };
  return {
    options: pool.options,
    end: () => pool.end(),
    connect: async (statementMs = queryTimeoutMs) => {
      const client = await take(pool, whileAlive).catch(wrap);
      let broken: { readonly error: unknown } | null = null;
      const query = async (text: string, values: unknown[] = []): Promise<unknown> => {
        if (broken !== null) throw broken.error; // what comes after it, such as a rollback, would wait as long again
        const statement: QueryConfig & { readonly query_timeout: number } = {
          text,
          values,
          query_timeout: statementMs,
        };
        return await whileAlive(() => client.query(statement)).catch((error: unknown) => {
          const told = translate(error, address);
          if (isBreach(error)) broken = { error: told };
          if (isUnanswered(error)) abandoned.add(client);
          throw told;
        });
      };
      const release = (): void => client.release(broken !== null);
      try {
        await abandoned.end(query);
      } catch (error) {
        release();
        throw error;
      }
      return { query, release } as unknown as PostgresPoolClient;
    },
  };
}

const isUnanswered = (error: unknown): boolean =>
  !(error instanceof DatabaseError || error instanceof TypeError || error instanceof RangeError);

const isBreach = (error: unknown): boolean => !(error instanceof DatabaseError) || sessionEnded.test(error.code ?? "");

/** A connection that comes after its wait was given up goes back to the pool. */
async function take(pool: Pool, whileAlive: WhileAlive): Promise<PoolClient> {
  const asked: { connecting?: Promise<PoolClient> } = {};
  try {
    return await whileAlive(() => {
      asked.connecting = pool.connect();
      return asked.connecting;
    });
  } catch (error) {
    asked.connecting?.then(
      (late) => late.release(),
      () => undefined,
    );
    throw error;
  }
}

export function createKysely(pool: ConnectionPool, statementMs?: number): Kysely<Database> {
  const own = { ...pool, connect: () => pool.connect(statementMs) };
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool: own }) });
}
