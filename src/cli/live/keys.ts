import { style } from "../io.ts";
import type { CliIo } from "../io.ts";

export interface KeyAction {
  /** What it does, in one or two words. */
  name: string;
  run(): void | Promise<void>;
}

/** Calls an action for each key that is pressed on a terminal, one after another. Returns how to stop. */
export function followKeys(
  io: CliIo,
  actions: Record<string, KeyAction>,
  failed: (error: unknown) => void,
): () => void {
  const { stdin } = io;
  let running = Promise.resolve();
  const onData = (typed: Buffer | string): void => {
    for (const key of String(typed)) {
      // A terminal in raw mode sends a character instead of a signal.
      if (key === "\u0003") return io.interrupt();
      const action = Object.hasOwn(actions, key) ? actions[key] : undefined;
      if (action) running = running.then(() => action.run()).catch(failed);
    }
  };
  stdin.setRawMode?.(true);
  stdin.on("data", onData);
  stdin.resume();
  return () => {
    stdin.off("data", onData);
    stdin.pause();
    stdin.setRawMode?.(false);
  };
}

/** `r replay the last · q quit` */
export function describeKeys(actions: Record<string, KeyAction>): string {
  return Object.entries(actions)
    .map(([key, { name }]) => `${style("bold", key)} ${name}`)
    .join(" · ");
}
