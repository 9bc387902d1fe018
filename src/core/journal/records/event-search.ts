import type { UnfinishedWord } from "../../shared/words.ts";
import type { EventStatus } from "../../types.ts";

/** Conditions of a search; undefined: any value. */
export interface EventSearch {
  /** From this time on, and before this one. */
  from?: number;
  to?: number;
  hook?: string;
  status?: EventStatus;
  /** Only those that are accepted and do this. */
  unfinished?: UnfinishedWord;
  mapping?: string;
  /** The event's name. */
  event?: string;
  credential?: string;
  /** The key of a session that it has an action for. */
  session?: string;
  /** The model that answered one of its turns. */
  model?: string;
  /** The channel of one of its deliveries. */
  channel?: string;
  /** The error group of a dead letter. */
  group?: string;
  fields?: FieldCondition[];
  /** In any case: in its row, body, prompts, replies or errors. */
  text?: string;
}

/** A value of the payload, a header or a parameter of the query, as text. */
export interface FieldCondition {
  /** `["payload", "repository", "full_name"]`, `["headers", "x-github-delivery"]`, `["query", "page"]` */
  path: string[];
  value: string;
}

export interface SearchChunk {
  /** Newest first. */
  ids: string[];
  /** How many events it has looked at. */
  searched: number;
  /** When the last of them was received. */
  at?: number;
  /** The id of the last of them, where the search continues. Absent: there is nothing older. */
  end?: string;
}
