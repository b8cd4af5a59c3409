export const isSha = (text: string): boolean => /^[0-9a-f]{40}$/.test(text);

/** Remembers answers about full object ids in one repository. */
export function remembered<Ids extends readonly string[], Result>(
  ask: (folder: string, ...ids: Ids) => Promise<Result>,
  isFinal: (result: Result) => boolean = () => true,
): (folder: string, ...ids: Ids) => Promise<Result> {
  const ofAll = rememberedFor(ask, isFinal);
  return (folder, ...ids) => (ids.every(isSha) ? ofAll(folder, ...ids) : ask(folder, ...ids));
}

/** Remembers those answers that are final. */
export function rememberedFor<Ids extends readonly string[], Result>(
  ask: (folder: string, ...ids: Ids) => Promise<Result>,
  isFinal: (result: Result) => boolean,
): (folder: string, ...ids: Ids) => Promise<Result> {
  const known = new Map<string, Result>();
  return async (folder, ...ids) => {
    const key = [folder, ...ids].join(" ");
    const present = known.get(key);
    if (present !== undefined) return present;
    const result = await ask(folder, ...ids);
    if (isFinal(result)) known.set(key, result);
    return result;
  };
}
