import type { Job } from "./job.ts";

/** A job as it was handed over: one that was taken back may come again, under another ticket. */
export interface JobEntry {
  ticket: number;
  job: Job;
  /** How long it may go on after its own deadline, in milliseconds. */
  graceMs: number;
  takenBack: boolean;
}

/** The jobs that a child was given and has not answered, in order. */
export interface JobRow {
  count(): number;
  first(): JobEntry | undefined;
  /** Gives the new one's ticket: 1, 2, 3, … */
  add(job: Job, graceMs: number): number;
  /** The first one is answered; throws where that is another. */
  answer(ticket: number): JobEntry;
  /** The one the child is at. */
  running(): JobEntry | undefined;
  /** Those beside the running one that nobody took back yet. */
  waiting(): JobEntry[];
}

/** `readProgress` gives the ticket that the child has noted. */
export function createJobRow(readProgress: () => number): JobRow {
  const entries: JobEntry[] = [];
  let lastTicket = 0;

  /** A child notes nothing where it is clear that it is at the first one: while no answer waits to be sent. */
  function running(): JobEntry | undefined {
    if (entries.length < 2) return entries[0];
    const noted = readProgress();
    return entries.find(({ ticket }) => ticket === noted) ?? entries[0];
  }

  return {
    count: () => entries.length,
    first: () => entries[0],
    add(job, graceMs) {
      entries.push({ ticket: ++lastTicket, job, graceMs, takenBack: false });
      return lastTicket;
    },
    answer(ticket) {
      const entry = entries.shift();
      if (entry?.ticket !== ticket) throw new Error("An answer came out of turn.");
      return entry;
    },
    running,
    waiting() {
      const current = running();
      return entries.filter((entry) => entry !== current && !entry.takenBack);
    },
  };
}
