/**
 * The operator's read-only pages: the runs, one run, one action, from the ledger alone (AUD-85 to AUD-87 in plain form; live
 * events, hunks by action and the verification badge come later).
 * Door: `startPages`.
 * Never: no page without the token, none that changes anything, no text of others that a browser could act on.
 */
export { type PageSettings, type Pages, startPages } from "./start-pages.ts";
