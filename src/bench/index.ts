/**
 * The measurements: each figure beside a floor of the same work without the product, in one run, so that the machine's own
 * speed and load fall out of the ratio.
 * Door: `runBench` for one row or all, in one of three sizes.
 * Never: touches the records of the service, leaves anything behind, or judges a time.
 */
export type { BenchDeps, BenchSettings } from "./bench-place.ts";
export type { Size } from "./figure.ts";
export { type Judged, judgeRequests } from "./hostile/judge.ts";
export { type BenchReport, type BenchRequest, rowNames, runBench } from "./run-bench.ts";
