/** What a floor's process is told. */
export type FloorPlan = {
  readonly baseUrl: string;
  readonly model: string;
  /** The product's own catalogue, so that the requests are alike. */
  readonly tools: readonly unknown[];
  readonly databaseUrl: string;
  /** Committed inserts for each call. */
  readonly commits: number;
  /** What stands before `bash`, and whom it runs as; null where the tool is a function. */
  readonly command: {
    readonly prefix: readonly string[];
    readonly owner: { readonly uid: number; readonly gid: number } | null;
  } | null;
};
