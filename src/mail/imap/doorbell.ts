import type { ImapFlow } from "imapflow";

/** Rings when a server announces a mail, and when the connection is lost. */
export interface Doorbell {
  /** What has rung so far does not count any more. */
  reset(): void;
  /** Resolves to true once it rings, at once where it has; to false where it does not within so many milliseconds. */
  wait(milliseconds: number): Promise<boolean>;
}

export function hangDoorbell(client: ImapFlow): Doorbell {
  let rung = Promise.withResolvers<true>();
  const ring = (): void => rung.resolve(true);
  client.on("exists", ring);
  client.on("close", ring);
  return {
    reset() {
      // One that was lost stays so.
      if (client.usable) rung = Promise.withResolvers<true>();
    },
    async wait(milliseconds) {
      const late = Promise.withResolvers<false>();
      const timer = setTimeout(() => late.resolve(false), milliseconds);
      const result = await Promise.race([rung.promise, late.promise]);
      clearTimeout(timer);
      return result;
    },
  };
}
