import { readFileSync } from "node:fs";
import { committedBytes, openFloorDatabase } from "./floor-database.ts";
import { type Act, floorLoop, inProcess, spawning, withCommits } from "./floor-loop.ts";
import type { FloorPlan } from "./floor-plan.ts";

// A floor is a process of its own, as a run is: what it costs to start a command grows with the process that starts it.
const plan = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as FloorPlan;
await using database = await openFloorDatabase(plan.databaseUrl);
const act: Act = plan.command === null ? inProcess : spawning(plan.command.prefix, plan.command.owner);
await floorLoop(
  plan,
  withCommits(act, plan.commits, () => database.commit(committedBytes)),
);
