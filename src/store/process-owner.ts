import { readlinkSync } from "node:fs";
import { currentBootId, isAlive, startTimeOf } from "./process-register.ts";

/** Names this process among all machines: where its pid counts, pid and start time, so that a pid used again is another owner. */
export function processOwner(): string {
  return `${place()}:${process.pid}:${startTimeOf(process.pid) ?? 0}`;
}

/**
 * Whether an owner still lives; `elsewhere` where it ran on another machine, in another container of this one, or before
 * this one was started anew: nothing is known of it here.
 */
export function ownerState(owner: string): "alive" | "dead" | "elsewhere" {
  const [at, pid, startTime] = owner.split(":");
  if (at !== place()) return "elsewhere";
  return isAlive(Number(pid), Number(startTime)) ? "alive" : "dead";
}

/** Containers of one machine share its boot id, and each counts pids of its own (pid_namespaces(7)). */
function place(): string {
  const [namespace = ""] = /\d+/.exec(readlinkSync("/proc/self/ns/pid")) ?? [];
  return `${currentBootId()}/${namespace}`;
}
