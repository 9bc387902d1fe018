import { createNonce } from "../../core/shared/id.ts";
import { beginAlone, endLives, leaveLife, signLife } from "../../core/journal/writes/lives.ts";
import type { Writer } from "../../core/journal/writes/writer.ts";
import { finish } from "./writer.ts";

/** This process, as the journal knows its life. */
export interface Node {
  /** The processes before it have ended. */
  begin(writer: Writer): void;
  beginAlone(writer: Writer, suspect: string): void;
  /** Whether the last sign is so old that another one is worth a commit. */
  needsSign(): boolean;
  sign(writer: Writer): void;
  /** Records that this process stops. */
  leave(writer: Writer): void;
}

/** The next sign follows after this part of the time until the last one: a short life is known as exactly as a long one. */
const SIGN_AFTER = 1 / 8;

export function createNode(): Node {
  const id = createNonce();
  const clock = { wall: Date.now(), monotonic: performance.now() };
  /** The clock of the machine may be set while the process lives. */
  const now = (): number => Math.round(clock.wall + performance.now() - clock.monotonic);
  let beganAt = now();
  let signedAt = beganAt;

  return {
    begin(writer) {
      finish(endLives(writer, now()));
      [beganAt, signedAt] = [now(), now()];
      finish(signLife(writer, id, beganAt));
    },
    beginAlone(writer, suspect) {
      [beganAt, signedAt] = [now(), now()];
      finish(beginAlone(writer, id, beganAt, suspect));
    },
    needsSign: () => now() - signedAt > (signedAt - beganAt) * SIGN_AFTER,
    sign(writer) {
      signedAt = now();
      finish(signLife(writer, id, signedAt));
    },
    leave: (writer) => finish(leaveLife(writer, id, now())),
  };
}
