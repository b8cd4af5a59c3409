/** Aborts `signal` once nothing was heard for the given time. Ends with its `using` block. */
export type SilenceWatch = Disposable & { readonly signal: AbortSignal; touch(): void };

export function watchSilence(silenceMs: number): SilenceWatch {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), silenceMs);
  return {
    signal: controller.signal,
    touch: () => void timer.refresh(),
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
