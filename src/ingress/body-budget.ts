/** Bounds the memory of bodies whose senders are not known yet, and the time that they take, over all connections. */
export interface BodyBudget {
  open(): Upload;
}

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
/** What Node may have read of a paused body. */
const READ_AHEAD_BYTES = 128 * 1024;

/**
 * Where room is missing, the oldest incomplete upload is refused: an honest one is over soon, a stalled one never. Where time
 * is missing, large ones are read one after another, a piece at a time.
 */
export function createBodyBudget(maxBytes: number): BodyBudget {
  const held = new Map<Upload, number>();
  /** The one that has waited longest comes first. */
  const paused = new Set<Upload>();
  let total = 0;
  let bytesOfTurn = 0;
  let turn: NodeJS.Immediate | undefined;

  return {
    open() {
      const upload: Upload = { add: (bytes) => add(upload, bytes), release: () => release(upload) };
      held.set(upload, 0);
      return upload;
    },
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
