import { sql } from "kysely";
import type { Store } from "../store/index.ts";
import type { NodePlace, ReadNodes } from "./merkle.ts";

/** Reads the subtrees that a proof needs from the store: one query, whatever the size of the log. */
export function proofReader(store: Store): ReadNodes {
  return async (places) => {
    const { rows } = await sql<NodePlace & { readonly hash: Buffer | null }>`
      select place.level, place.position, coalesce(node.hash, entry.leaf_hash) as hash
      from unnest(${places.map(({ level }) => level)}::smallint[], ${places.map(({ position }) => position)}::bigint[])
        with ordinality as place (level, position, at)
      left join ledger_nodes node on node.level = place.level and node.position = place.position
      left join ledger_entries entry on place.level = 0 and entry.index = place.position
      order by place.at`.execute(store.db);
    return rows.map(({ level, position, hash }) => {
      if (hash === null) throw new Error(`no subtree at level ${level}, position ${position}`);
      return hash;
    });
  };
}
