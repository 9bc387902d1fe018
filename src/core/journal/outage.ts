import type { JournalUnavailable } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";

export interface Outage {
  isOn(): boolean;
  /** Gives the error. */
  begin(error: JournalUnavailable): JournalUnavailable;
  end(): void;
}

/** Logs when a store begins to refuse writes, and when it accepts them again. */
export function createOutage(log: Log): Outage {
  let on = false;
  return {
    isOn: () => on,
    begin(error: JournalUnavailable): JournalUnavailable {
      if (!on) log.error("journal refuses writes", { reason: error.message });
      on = true;
      return error;
    },
    end() {
      if (on) log.info("journal accepts writes again");
      on = false;
    },
  };
}
