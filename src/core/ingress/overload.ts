import { HookError } from "../errors.ts";
import type { Journal } from "../journal/journal.ts";
import { senderOf } from "../types.ts";

/** Bounds the memory of bodies whose senders are not known yet, and the time that they take, over all connections. */
type OpenUpload = () => Upload;

export interface Upload {
  /** Counts bytes that have arrived. May pause this upload, and refuse this or an older one. */
  add(bytes: number): void;
  /** Undefined once the body is complete. */
  reader?: BodyReader;
  /** The body counts no longer: its sender is known, or it was dropped. */
  release(): void;
}

interface BodyReader {
  /** Drops what was read, to make room for others. */
  refuse(): void;
  pause(): void;
  resume(): void;
}

/** An object and its place in a list, per piece of a body. Bodies of one-byte pieces would multiply their size otherwise. */
const PIECE_BYTES = 200;
/** A body up to this size is never paused. */
const SMALL_BYTES = 32 * 1024;
/** How much of larger ones is read in a turn of the event loop. Otherwise all other requests would wait for all of them. */
const TURN_BYTES = 128 * 1024;
/** The part of a paused body that Node may have read. */
const READ_AHEAD_BYTES = 128 * 1024;

/**
 * Where room is missing, the oldest incomplete upload is refused: an honest one is over soon, a stalled one never. Where time
 * is missing, large ones are read one after another, a piece at a time.
 */
export function createBodyBudget(maxBytes: number): OpenUpload {
  const held = new Map<Upload, number>();
  /** The one that has waited longest comes first. */
  const paused = new Set<Upload>();
  let total = 0;
  let bytesOfTurn = 0;
  let turn: NodeJS.Immediate | undefined;

  return function openUpload() {
    const upload: Upload = { add: (bytes) => add(upload, bytes), release: () => release(upload) };
    held.set(upload, 0);
    return upload;
  };

  function add(upload: Upload, bytes: number): void {
    hold(upload, bytes + PIECE_BYTES);
    if ((held.get(upload) ?? 0) > SMALL_BYTES) pace(upload, bytes);
  }

  function hold(upload: Upload, bytes: number): void {
    const before = held.get(upload);
    if (before === undefined) return;
    held.set(upload, before + bytes);
    total += bytes;
    for (const oldest of held.keys()) {
      if (total <= maxBytes || held.size === 1) return;
      const { reader } = oldest;
      if (reader) {
        release(oldest);
        reader.refuse();
      }
    }
  }

  function pace(upload: Upload, bytes: number): void {
    bytesOfTurn += bytes;
    turn ??= setImmediate(startTurn);
    if (bytesOfTurn <= TURN_BYTES || !upload.reader) return;
    paused.add(upload);
    upload.reader.pause();
    hold(upload, READ_AHEAD_BYTES);
  }

  function startTurn(): void {
    bytesOfTurn = 0;
    turn = undefined;
    const [next] = paused;
    if (!next) return;
    paused.delete(next);
    hold(next, -READ_AHEAD_BYTES);
    next.reader?.resume();
    turn = setImmediate(startTurn);
  }

  function release(upload: Upload): void {
    total -= held.get(upload) ?? 0;
    held.delete(upload);
    paused.delete(upload);
  }
}

/** How many requests to hooks begin in one step of the event loop: more than that only come in a burst. */
const MAX_BEGUN = 64;
/** How many of those that wait begin in one step. Fewer, because a request to another hook takes several steps, each as long as its portion. */
const PORTION = 16;
/** This number of consecutive steps, each with a new connection, is a burst. */
const BURST_STEPS = 8;
/** Meanwhile, a portion begins from time to time. */
const BURST_EVERY_MS = 10;

/**
 * Lets a burst of requests begin in portions, the hooks in turn, so that a request to another hook waits for a portion and
 * not for the burst. In each of its steps, the event loop accepts one connection. If the requests of a burst began as they
 * arrive, the last connection would wait for all of them unread, so the connections come first.
 */
export interface BurstQueue {
  /** undefined: the request can begin at once. `hook`: undefined for those that the configuration does not name. */
  wait(hook: () => string | undefined): Promise<void> | undefined;
  /** A connection was accepted. */
  accept(): void;
}

export function createBurstQueue(): BurstQueue {
  let isStepping = false;
  /** In this step. */
  let begun = 0;
  let accepted = 0;
  /** Steps in a row in which a connection was accepted, up to the last one. */
  let streak = 0;
  let portionAt = 0;
  /** By hook. A hook that has had its turn goes to the end. */
  const waiting = new Map<string | undefined, (() => void)[]>();

  return {
    wait(hook) {
      step();
      if (waiting.size === 0 && streak < BURST_STEPS && begun < MAX_BEGUN) {
        begun++;
        return undefined;
      }
      const name = hook();
      const queue = waiting.get(name) ?? [];
      waiting.set(name, queue);
      return new Promise((resolve) => queue.push(resolve));
    },
    accept() {
      step();
      accepted++;
    },
  };

  function step(): void {
    if (!isStepping) setImmediate(endStep);
    isStepping = true;
  }

  function endStep(): void {
    isStepping = false;
    streak = accepted > 0 ? streak + 1 : 0;
    accepted = 0;
    begun = 0;
    if (streak < BURST_STEPS || performance.now() - portionAt > BURST_EVERY_MS) beginPortion();
    if (waiting.size > 0 || begun > 0 || streak > 0) step();
  }

  function beginPortion(): void {
    portionAt = performance.now();
    for (const [hook, queue] of waiting) {
      if (begun === PORTION) return;
      begun++;
      queue.shift()!();
      // The loop comes to it again after the others.
      waiting.delete(hook);
      if (queue.length > 0) waiting.set(hook, queue);
    }
  }
}

/** How long a count of the journal is used, in milliseconds, and in multiples of what it took. */
const MAX_AGE_MS = 500;
const MAX_AGE_TIMES = 20;

interface BacklogGuard {
  /** `credential`: of a request. An operator has none, and takes room as long as there is any. */
  hasRoom(credential?: string): boolean;
  /** Throws a 503 if there is no room. */
  requireRoom(credential?: string): void;
  add(credential: string, runs: number): void;
}

/**
 * Refuses requests while `maxPending()` runs or more are unfinished, so that the backlog stays bounded. Once it is half full
 * and several senders wait in it, one that has as many runs there as there is room left is refused before the others.
 */
export function createBacklogGuard(
  journal: Pick<Journal, "stats" | "countSenders">,
  maxPending: () => number,
): BacklogGuard {
  let pending = 0;
  let senders = new Map<string, number>();
  let countAt = 0;

  const hasRoom: BacklogGuard["hasRoom"] = (credential) => {
    const left = maxPending() - pending;
    if (left <= 0 || credential === undefined || senders.size < 2) return left > 0;
    return (senders.get(senderOf(credential)) ?? 0) < left;
  };
  return {
    hasRoom,
    requireRoom(credential) {
      if (Date.now() >= countAt) void count();
      if (hasRoom(credential)) return;
      const message = hasRoom() ? "Too many runs of this sender are waiting." : "Too many runs are waiting.";
      throw new HookError("overloaded", { message, headers: { "Retry-After": "5" } });
    },
    add(credential, runs) {
      pending += runs;
      const sender = senderOf(credential);
      if (senders.size > 0 && runs > 0) senders.set(sender, (senders.get(sender) ?? 0) + runs);
    },
  };

  async function count(): Promise<void> {
    countAt = Infinity;
    const startedAt = performance.now();
    try {
      pending = (await journal.stats()).pendingRuns;
      senders = pending > maxPending() / 2 ? await journal.countSenders() : new Map();
    } catch {
      // The earlier count holds until the journal is back.
    }
    countAt = Date.now() + Math.max(MAX_AGE_MS, MAX_AGE_TIMES * (performance.now() - startedAt));
  }
}
