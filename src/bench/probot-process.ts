import { Pool } from "pg";
import { Probot, Server } from "probot";
import { letGo, readPlan, say } from "./child-plan.ts";
import type { ProbotPlan } from "./receivers.ts";

const plan = readPlan<ProbotPlan>();
/** As many connections as the product has. */
const pool = plan.databaseUrl === null ? null : new Pool({ connectionString: plan.databaseUrl, max: 10 });
await pool?.query("create table if not exists bench_deliveries (id text, event text, received_at timestamptz)");

const server = new Server({
  Probot: Probot.defaults({ appId: plan.appId, privateKey: plan.privateKey, secret: plan.webhookSecret }),
  host: "127.0.0.1",
  port: "0" as unknown as number, // the number 0 would be taken for none given, which means 3000
  webhookPath: plan.webhookPath,
});
await server.load((app) => {
  app.onAny(async ({ id, name }) => {
    if (pool === null) return;
    const text = "insert into bench_deliveries (id, event, received_at) values ($1, $2, now())";
    await pool.query({ name: "delivery", text, values: [id, name] });
  });
});
await server.start();
letGo().addEventListener("abort", () => process.exit());
say({ port: server.port });
