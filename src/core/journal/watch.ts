import { messageOf } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import type { Change, NewWork } from "./records/node.ts";

export type WorkListener = (work: ReadonlySet<NewWork>) => void;
export type ChangeListener = (changes: readonly Change[]) => void;

/** A listener that throws keeps the message from no other. */
export function tell<Message>(listeners: Iterable<(message: Message) => void>, message: Message, log: Log): void {
  for (const listener of listeners) {
    try {
      listener(message);
    } catch (error) {
      log.error("journal watcher failed", { error: messageOf(error) });
    }
  }
}
