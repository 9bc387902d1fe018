/** Which mails the folders have in hand: one that lies in two of them is posted once, and known to the other after that. */
export interface InHand {
  /**
   * Takes the mails of these ids, all at once, as soon as no other folder has any of them. Resolves to what lets go of them;
   * rejects where the watch ends before.
   */
  take(ids: string[]): Promise<() => void>;
}

export function createInHand(signal: AbortSignal): InHand {
  const taken = new Map<string, Promise<void>>();
  return {
    async take(ids) {
      const findOther = (): Promise<void> | undefined => ids.map((id) => taken.get(id)).find(Boolean);
      for (let other = findOther(); other; other = findOther()) await other;
      signal.throwIfAborted();
      const { promise, resolve } = Promise.withResolvers<void>();
      for (const id of ids) taken.set(id, promise);
      return function letGo() {
        for (const id of ids) taken.delete(id);
        resolve();
      };
    },
  };
}
