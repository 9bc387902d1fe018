import { fail } from "./fail.ts";

/** At SIGTERM or SIGINT closes what runs and exits 0; a second signal exits at once. */
export function stopOnSignal(running: { close(): Promise<void> }): void {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => {
      process.once(signal, () => process.exit(1));
      running.close().then(() => process.exit(0), fail);
    });
  }
}
