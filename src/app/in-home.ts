import { refuseForeignHome, translateFileError } from "../store/index.ts";

/** What the file system says about the service folder (no space, no way in) in our words, wherever it is met. */
export async function inHome<T>(home: string, work: () => Promise<T>): Promise<T> {
  await refuseForeignHome(home);
  try {
    return await work();
  } catch (error) {
    throw translateFileError(error, home);
  }
}
