/**
 * Measures the contenders in turn, round after round (floor, product, floor, product, ...), so that a change of the
 * machine's load meets all of them. Answers with the measurements by name, in the order of the rounds.
 */
export async function alternate<Name extends string, Measured>(
  contenders: Readonly<Record<Name, (round: number) => Measured | Promise<Measured>>>,
  rounds: number,
  signal: AbortSignal,
): Promise<Readonly<Record<Name, readonly Measured[]>>> {
  const names = Object.keys(contenders) as Name[];
  const measured = Object.fromEntries(names.map((name) => [name, [] as Measured[]])) as Record<Name, Measured[]>;
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) {
      signal.throwIfAborted();
      measured[name].push(await contenders[name](round));
    }
  }
  return measured;
}

/** Milliseconds that an act takes. */
export async function timed(act: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await act();
  return performance.now() - startedAt;
}

/** Microseconds that one call takes, over many: for what is too short to be timed alone. */
export function perCall(calls: number, act: (call: number) => void): number {
  const startedAt = performance.now();
  for (let call = 0; call < calls; call += 1) act(call);
  return ((performance.now() - startedAt) * 1000) / calls;
}
