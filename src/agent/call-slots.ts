import type { CallDelta } from "./chunk.ts";
import { jsonShape } from "./json-shape.ts";
import type { ModelEvent, ToolCall } from "./model.ts";

/** A call while its pieces come in. `index` is the server's; it may be missing, null or the same for all. */
type Slot = { id: string; index: number | null; name: string; arguments: string; isFinished: boolean };

export type CallSlots = {
  /** `position`: place of the piece among those of the same chunk; null where it is the only one. */
  push(delta: CallDelta, position: number | null): void;
  sizeChars(): number;
  /** The calls in the order in which they were begun. */
  finish(wasCut: boolean): readonly ToolCall[];
};

/**
 * Puts the pieces of tool calls together (ACI-94): by id; else by index; else a new id or name opens a call; else the piece
 * belongs to the call at its position, or to the last one. A missing index is not 0.
 */
export function createCallSlots(onEvent: (event: ModelEvent) => void): CallSlots {
  const slots: Slot[] = [];

  const open = (index: number | null): Slot => {
    const last = slots.at(-1);
    if (last !== undefined) close(last);
    const slot = { id: "", index, name: "", arguments: "", isFinished: false };
    slots.push(slot);
    return slot;
  };
  const close = (slot: Slot): void => {
    if (slot.isFinished || slot.name === "") return;
    slot.isFinished = true;
    onEvent({ kind: "call_finished", ordinal: slots.indexOf(slot), name: slot.name });
  };

  return {
    push: (delta, position) => {
      const slot = findSlot(slots, delta, position) ?? open(delta.index ?? null);
      if (slot.id === "") slot.id = delta.id ?? "";
      const wasNamed = slot.name !== "";
      slot.name = joinName(slot.name, delta.function?.name ?? "");
      slot.arguments += asText(delta.function?.arguments);
      // A name may come after the first arguments: only then is it known that there is a call.
      if (!wasNamed && slot.name !== "")
        onEvent({ kind: "call_started", ordinal: slots.indexOf(slot), name: slot.name });
    },
    sizeChars: () => slots.reduce((sum, slot) => sum + slot.name.length + slot.arguments.length, 0),
    finish: (wasCut) => {
      slots.forEach(close);
      return slots.map((slot) => ({
        id: slot.id,
        name: slot.name,
        // A call without arguments may come without any piece of them; one that was cut stays as it came.
        arguments: slot.arguments === "" && !wasCut ? "{}" : slot.arguments,
      }));
    },
  };
}

function findSlot(slots: readonly Slot[], delta: CallDelta, position: number | null): Slot | undefined {
  const id = delta.id ?? "";
  const name = delta.function?.name ?? "";
  const byId = id === "" ? undefined : slots.find((slot) => slot.id === id);
  if (byId !== undefined) return byId;
  const index = delta.index ?? null;
  const isUnlabelled = id === "" && name === "" && position !== null;
  const byPlace = isUnlabelled ? slots[position] : slots.at(-1);
  const candidate = index === null ? byPlace : slots.findLast((slot) => slot.index === index);
  return candidate !== undefined && !isAnother(candidate, id, name) ? candidate : undefined;
}

/** Whether a piece with this id and name begins another call than the one it would fall to. */
function isAnother(slot: Slot, id: string, name: string): boolean {
  if (id !== "" && slot.id !== "") return true; // ids that are equal were found before
  if (name === "" || slot.name === "") return false;
  return name !== slot.name ? slot.arguments !== "" : slot.arguments !== "" && jsonShape(slot.arguments) === "whole";
}

/** Some servers repeat the name in each piece, others send it in pieces. */
function joinName(name: string, piece: string): string {
  return name === piece ? name : name + piece;
}

function asText(piece: NonNullable<CallDelta["function"]>["arguments"]): string {
  if (piece === null || piece === undefined) return "";
  return typeof piece === "string" ? piece : JSON.stringify(piece);
}
