export interface Pauses {
  /** Resolves after so many milliseconds, at the next nudge, or once the signal aborts. Never rejects. */
  wait(ms: number): Promise<void>;
  /** Ends every wait: something has changed, it is worth a try now. */
  nudge(): void;
}

export function createPauses(signal: AbortSignal): Pauses {
  const ends = new Set<() => void>();
  signal.addEventListener("abort", nudge, { once: true });
  return { wait, nudge };

  async function wait(ms: number): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(end, ms);
      ends.add(end);

      function end(): void {
        clearTimeout(timer);
        ends.delete(end);
        resolve();
      }
    });
  }

  function nudge(): void {
    for (const end of ends) end();
  }
}
