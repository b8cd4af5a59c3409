import type { PostgresPoolClient } from "kysely";
import { CountersignError } from "../domain/index.ts";
import { advisoryLocks } from "./advisory-locks.ts";
import { eighth } from "./migrations/eighth.ts";
import { fifth } from "./migrations/fifth.ts";
import { first } from "./migrations/first.ts";
import { fourth } from "./migrations/fourth.ts";
import { ninth } from "./migrations/ninth.ts";
import { second } from "./migrations/second.ts";
import { seventh } from "./migrations/seventh.ts";
import { sixth } from "./migrations/sixth.ts";
import { third } from "./migrations/third.ts";

/** Forward only, in this order, never edited once released: a change is a new one. */
const migrations = [first, second, third, fourth, fifth, sixth, seventh, eighth, ninth] as const;

/**
 * Brings the schema up to date in one transaction under an advisory lock, so that processes starting together do it once.
 * Throws `CONFIG_INVALID` where a newer version has been at this database.
 */
export async function migrate(connection: Pick<PostgresPoolClient, "query">): Promise<void> {
  await connection.query("begin", []);
  try {
    await connection.query("select pg_advisory_xact_lock($1)", [advisoryLocks.migrations]);
    await connection.query(
      "create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())",
      [],
    );
    const { rows } = await connection.query<{ name: string }>("select name from migrations", []);
    const applied = new Set(rows.map((row) => row.name));
    refuseUnknown(applied);
    for (const { name, statements } of migrations) {
      if (applied.has(name)) continue;
      for (const statement of statements) await connection.query(statement, []);
      await connection.query("insert into migrations (name) values ($1)", [name]);
    }
    await connection.query("commit", []);
  } catch (error) {
    // A connection that is gone can't roll back, and needn't: the server does it.
    await connection.query("rollback", []).catch(() => undefined);
    throw error;
  }
}

function refuseUnknown(applied: ReadonlySet<string>): void {
  const known = new Set<string>(migrations.map(({ name }) => name));
  const unknown = [...applied].find((name) => !known.has(name));
  if (unknown === undefined) return;
  throw new CountersignError("CONFIG_INVALID", `the database has migration \`${unknown}\`, which this version lacks`, {
    remedy: "run the version of Countersign that made the migration, or a newer one",
    details: { migration: unknown },
  });
}
