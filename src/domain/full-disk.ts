/** Whether the system says that a disk, or a user's share of it, is full: no fault of whoever wrote. */
export const isFullDisk = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
