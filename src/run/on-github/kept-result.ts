import type { RunId } from "../../domain/index.ts";
import { openSealedChangeSet, sealedChangeSet } from "../../gateway/index.ts";
import { readRunTexts } from "../../ledger/index.ts";
import { runBatch } from "../run-record.ts";
import type { Session } from "../session.ts";
import type { Result, Verdict } from "../settle.ts";
import type { GithubRunDeps } from "./github-run-deps.ts";

/** What a run came to, durable before its first write of publishing: who takes it over publishes the same. */
export type KeptResult = { readonly result: Result; readonly verdict: Verdict; readonly used: Session["used"] };

/** Keeps result and change set, sealed, with the entry that publishing begins. */
export async function keepResult(
  deps: GithubRunDeps,
  session: Session,
  { result, verdict }: Omit<KeptResult, "used">,
): Promise<void> {
  const { authorized, ...read } = result.readBack;
  const kept = { ...result, readBack: read, verdict, used: session.used };
  const texts = {
    result: JSON.stringify(kept),
    publication: new TextDecoder().decode(sealedChangeSet(authorized)),
  };
  const evidence = { phase: "publish", conclusion: verdict.conclusion, ...verdict.diffStat };
  await deps.ledger.append(session.lease, runBatch(deps.randomBytes, session.run, { type: "run", evidence, texts }));
}

/** The result that an earlier worker of this run has kept; null where it did not come so far. */
export async function readKeptResult(deps: GithubRunDeps, runId: RunId): Promise<KeptResult | null> {
  const [result] = (await readRunTexts(deps, runId, "result")).slice(-1);
  const [publication] = (await readRunTexts(deps, runId, "publication")).slice(-1);
  if (result?.bytes == null || publication?.bytes == null) return null;
  const { readBack, verdict, used, ...rest } = JSON.parse(new TextDecoder().decode(result.bytes));
  const authorized = openSealedChangeSet(publication.bytes); // passes the commit gate again before it is pushed
  return { result: { ...rest, readBack: { ...readBack, authorized } }, verdict: { gateCauses: [], ...verdict }, used };
}
