import { legalTransitions } from "../../domain/index.ts";
import { ledgerTables, searchTables } from "./first-tables.ts";
import { ledgerTriggers } from "./first-triggers.ts";

/** `legalTransitions` of the domain as rows (AUD-3). A later change of that table is a later migration. */
function transitionRows(): string {
  const rows = [...legalTransitions].flatMap(([from, states]) =>
    states.map((to) => `(${from === null ? "null" : `'${from}'`}, '${to}')`),
  );
  return `insert into legal_transitions (from_state, to_state) values ${rows.join(", ")}`;
}

/** Migration 0001: the whole of the first schema. */
export const first = {
  name: "0001",
  statements: [...ledgerTables, ...searchTables, transitionRows(), ...ledgerTriggers],
} as const;
