import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** What is being answered at the moment. */
export interface InFlight {
  /** Counts `res` until it is closed, and makes it the newest answer of its connection. */
  begin(res: ServerResponse): void;
  /** Counts `work` until it settles, also when its client has gone. */
  track(work: Promise<void>): void;
  /** The answer begun last on a connection. */
  newest(socket: Socket): ServerResponse | undefined;
  /** Resolves when nothing is in flight, or after `limitMs`. */
  idle(limitMs: number): Promise<void>;
}

export function createInFlight(): InFlight {
  const newest = new WeakMap<Socket, ServerResponse>();
  let count = 0;
  let onIdle: () => void = () => {};

  function leave(): void {
    count--;
    if (count === 0) onIdle();
  }

  return {
    begin(res): void {
      count++;
      res.once("close", leave);
      newest.set(res.req.socket, res);
    },

    track(work): void {
      count++;
      void work.finally(leave);
    },

    newest: (socket) => newest.get(socket),

    idle(limitMs): Promise<void> {
      if (count === 0) return Promise.resolve();
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, limitMs);
        onIdle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
  };
}
