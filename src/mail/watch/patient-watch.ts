import { messageOf } from "../../errors.ts";
import { openMailStore } from "../store/open-mail-store.ts";
import type { MailStore } from "../store/port.ts";
import { createLaneStatus } from "./lane-status.ts";
import { createMailWatch, type MailWatch, type MailWatchOptions } from "./mail-watch.ts";
import { createPauses } from "./pauses.ts";
import { type MailState, toMailStatus } from "./states.ts";

export interface PatientWatchOptions extends Omit<MailWatchOptions, "store"> {
  /** The state folder. */
  folder: string;
}

/** How often it is tried to take a mailbox that another process has, or a file that cannot be used. */
const RETRY_MS = 3000;

/** A watch that begins as soon as it can have the mailbox for itself, and waits until then. */
export function createPatientWatch({ folder, ...options }: PatientWatchOptions): MailWatch {
  const { source, log, onChange: changed = () => {} } = options;
  const stopping = new AbortController();
  const pauses = createPauses(stopping.signal);
  const waiting = source.folders.map((name) => createLaneStatus({ folder: name, log, changed }));
  let watch: MailWatch | undefined;
  let opening: Promise<void> = Promise.resolve();

  return {
    start() {
      opening = startWhenFree();
    },
    status() {
      const folders = waiting.map((status) => status.read());
      return watch?.status() ?? toMailStatus(source, folders);
    },
    nudge() {
      pauses.nudge();
      watch?.nudge();
    },
    async close() {
      stopping.abort();
      await opening;
      await watch?.close();
    },
  };

  async function startWhenFree(): Promise<void> {
    while (!stopping.signal.aborted) {
      const store = tryToOpen();
      if (store) {
        watch = createMailWatch({ ...options, store });
        watch.start();
        return;
      }
      await pauses.wait(RETRY_MS);
    }
  }

  function tryToOpen(): MailStore | undefined {
    try {
      const store = openMailStore({ folder, mailbox: source.mailbox });
      if (!store) enter("watched-elsewhere", "another process watches this mailbox");
      return store;
    } catch (error) {
      enter("store-failed", messageOf(error));
      return undefined;
    }
  }

  function enter(state: MailState, error: string): void {
    for (const status of waiting) status.enter(state, { error, waitMs: RETRY_MS });
  }
}
