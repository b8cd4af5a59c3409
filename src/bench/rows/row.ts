import type { BenchPlace } from "../bench-place.ts";
import type { Figure, Size } from "../figure.ts";

/** One row: what is measured together because one of it is the floor of the other. */
export type Row = {
  readonly name: string;
  readonly title: string;
  readonly measure: (place: BenchPlace, size: Size, signal: AbortSignal) => Promise<readonly Figure[]>;
};
