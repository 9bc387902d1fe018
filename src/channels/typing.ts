/**
 * Shows that an answer is being written, for a service whose notice ends by itself after a few seconds: repeats it until the
 * returned function is called. Rejects if the first one fails.
 */
export async function keepTyping(
  notify: (signal: AbortSignal) => Promise<unknown>,
  { everyMs, signal }: { everyMs: number; signal: AbortSignal },
): Promise<() => Promise<void>> {
  await notify(signal);
  // One that fails is not worth a message: the next may work.
  const repeat = (): void => void notify(AbortSignal.timeout(everyMs)).catch(() => {});
  const timer = setInterval(repeat, everyMs).unref();
  return async () => clearInterval(timer);
}
