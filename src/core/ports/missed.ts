/** An event that has not arrived. */
export interface MissedEvent {
  /** The sender's id of the event or delivery, for `repeat`. */
  id: string;
  /** Sorts the events of one sender by their time. */
  order: string;
  /** In ISO 8601; undefined: the sender does not say it. */
  at?: string;
  /** The sender's name for it. */
  event: string;
  /** The result of the newest attempt, if the sender reports it. */
  status?: string;
  /** The id that is the same in all attempts, for a person. */
  guid?: string;
}

/** The events that have not arrived, as far as the sender knows them. */
export interface FoundMissed {
  /** Oldest first. */
  missed: MissedEvent[];
  /** Events that cannot be found, and differences of a repeat, in a sentence each. */
  notes: string[];
}

/** The events of one webhook that its sender knows. Calls reject with a `DriverError`. */
export interface MissedEvents {
  /** Finds events since a time, in milliseconds since the epoch, that have no attempt with a 2xx answer. */
  find(since: number): Promise<FoundMissed>;
  /** Has one arrive again. */
  repeat(event: MissedEvent): Promise<void>;
  /** The least time between two of them, in milliseconds. */
  paceMs: number;
}
