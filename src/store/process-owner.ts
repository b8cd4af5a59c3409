import { currentBootId, isAlive, startTimeOf } from "./process-register.ts";

/** Names this process among all machines: boot id, pid and start time, so that a pid used again is another owner. */
export function processOwner(): string {
  return `${currentBootId()}:${process.pid}:${startTimeOf(process.pid) ?? 0}`;
}

/** Whether an owner still lives; `elsewhere` where it ran on another machine, or before this one was started anew. */
export function ownerState(owner: string): "alive" | "dead" | "elsewhere" {
  const [bootId, pid, startTime] = owner.split(":");
  if (bootId !== currentBootId()) return "elsewhere";
  return isAlive(Number(pid), Number(startTime)) ? "alive" : "dead";
}
