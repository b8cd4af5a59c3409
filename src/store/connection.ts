import { Kysely, PostgresDialect, type PostgresPoolClient } from "kysely";
import { Client, DatabaseError, Pool, types } from "pg";
import { CountersignError } from "../domain/index.ts";
import type { Database } from "./database.ts";
import { databaseRefusals } from "./refusals.ts";

/** How long one attempt to connect may take, the log-in included. */
export const connectTimeoutMs = 5_000;
/** No statement of ours takes longer; a server that says nothing for so long is as good as gone. */
const queryTimeoutMs = 60_000;
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
export type Address = { readonly text: string; readonly host: string };

/** Throws `CONFIG_INVALID`, without the value: it holds a password. */
export function addressOf(databaseUrl: string): Address {
  try {
    if (!/^postgres(ql)?:\/\//.test(databaseUrl)) throw new Error("no such scheme");
    const { host, port, database } = new Client({ connectionString: databaseUrl });
    return { text: `postgresql://${host}:${port}/${database ?? ""}`, host: `${host}:${port}` };
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

/** What the driver's adapter and the migrations need of a pool. */
export type ConnectionPool = {
  connect(): Promise<PostgresPoolClient>;
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
    query_timeout: queryTimeoutMs,
    keepAlive: true,
    application_name: "countersign",
  });
  // An idle connection that breaks is taken out by the pool; the next query finds out whether the server is back.
  pool.on("error", () => undefined);
  const wrap = (error: unknown): never => {
    throw translate(error, address);
  };
  return {
    options: pool.options,
    end: () => pool.end(),
    connect: async () => {
      const client = await pool.connect().catch(wrap);
      let isBroken = false;
      const query = async (text: string, values?: unknown[]): Promise<unknown> => {
        try {
          return await client.query(text, values);
        } catch (error) {
          isBroken ||= !(error instanceof DatabaseError);
          return wrap(error);
        }
      };
      return { query, release: () => client.release(isBroken) } as unknown as PostgresPoolClient;
    },
  };
}

export function createKysely(pool: ConnectionPool): Kysely<Database> {
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
}
