/** How many runs this process works on at once, and of one installation. */
export type Places = {
  /** A place until it is disposed; null where the process or the installation has none left. */
  readonly take: (installationId: number) => Disposable | null;
};

/**
 * One place always is beyond the reach of a single installation, where there is more than one: a run is long, and nobody
 * else should wait for all of those that somebody asked for first (GH-34).
 */
export function createPlaces(total: number, runsPerInstallation: number): Places {
  const share = Math.min(runsPerInstallation, Math.max(1, total - 1));
  const taken = new Map<number, number>();
  const takenOf = (installationId: number): number => taken.get(installationId) ?? 0;
  let takenCount = 0;
  const add = (installationId: number, by: 1 | -1): void => {
    takenCount += by;
    const left = takenOf(installationId) + by;
    if (left === 0) taken.delete(installationId);
    else taken.set(installationId, left);
  };
  return {
    take: (installationId) => {
      if (takenCount >= total || takenOf(installationId) >= share) return null;
      add(installationId, 1);
      return { [Symbol.dispose]: () => add(installationId, -1) };
    },
  };
}
