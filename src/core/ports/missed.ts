export interface MissedEvent {
  /** What it is got again by. */
  id: string;
  /** Sorts the events of one sender by their time. */
  order: string;
  /** In ISO 8601; undefined: the sender does not say it. */
  at?: string;
  /** What the sender calls it. */
  event: string;
  /** What became of the newest attempt, if the sender says it. */
  status?: string;
  /** The id that is the same in all attempts, for a person. */
  guid?: string;
}

export interface FoundMissed {
  /** Oldest first. */
  missed: MissedEvent[];
  /** What cannot be found, or will be different, in a sentence each. */
  notes: string[];
}

/** The events of one webhook that its sender knows. Calls reject with a `DriverError`. */
export interface MissedEvents {
  /** Those since a time, none of whose attempts was answered 2xx. In milliseconds since the epoch. */
  find(since: number): Promise<FoundMissed>;
  /** Has one arrive again. */
  repeat(event: MissedEvent): Promise<void>;
  /** The least time between two of them, in milliseconds. */
  paceMs: number;
}
