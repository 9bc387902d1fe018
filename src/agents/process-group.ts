/** Between the polite end and the certain one, in milliseconds. */
const GRACE_MS = 2000;

/** Those under way. */
const groups = new Set<number>();

// A service that stops does not wait for the grace time, and leaves nobody behind who still acts.
process.on("exit", () => groups.forEach((id) => send(id, "SIGKILL")));

/** A program with all that it has started. */
export interface ProcessGroup {
  /** SIGTERM, and SIGKILL to whoever is still there two seconds later. */
  end(): void;
  /** SIGKILL to whoever is left. */
  kill(): void;
}

/** `id`: process id of the group's first one. */
export function createProcessGroup(id: number): ProcessGroup {
  groups.add(id);
  let grace: NodeJS.Timeout | undefined;
  return {
    end() {
      send(id, "SIGTERM");
      grace ??= setTimeout(kill, GRACE_MS);
    },
    kill,
  };

  function kill(): void {
    clearTimeout(grace);
    groups.delete(id);
    send(id, "SIGKILL");
  }
}

function send(id: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-id, signal);
  } catch {
    // nobody is left
  }
}
