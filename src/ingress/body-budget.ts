/** Bounds the memory of bodies whose senders are not known yet, over all connections. */
export interface BodyBudget {
  open(): Upload;
}

export interface Upload {
  /** Counts bytes that have arrived. May refuse this upload or an older one. */
  add(bytes: number): void;
  /** Refuses the upload to make room for others; undefined once it is complete. */
  refuse?: () => void;
  /** The body counts no longer: its sender is known, or it was dropped. */
  release(): void;
}

/** An object and its place in a list, per piece of a body. Bodies of one-byte pieces would multiply their size otherwise. */
const PIECE_BYTES = 200;

/** Where room is missing, the oldest incomplete upload is refused: an honest one is over soon, a stalled one never. */
export function createBodyBudget(maxBytes: number): BodyBudget {
  const held = new Map<Upload, number>();
  let total = 0;

  return {
    open() {
      const upload: Upload = { add: (bytes) => add(upload, bytes + PIECE_BYTES), release: () => release(upload) };
      held.set(upload, 0);
      return upload;
    },
  };

  function add(upload: Upload, bytes: number): void {
    const before = held.get(upload);
    if (before === undefined) return;
    held.set(upload, before + bytes);
    total += bytes;
    for (const oldest of held.keys()) {
      if (total <= maxBytes || held.size === 1) return;
      if (oldest.refuse) {
        release(oldest);
        oldest.refuse();
      }
    }
  }

  function release(upload: Upload): void {
    total -= held.get(upload) ?? 0;
    held.delete(upload);
  }
}
