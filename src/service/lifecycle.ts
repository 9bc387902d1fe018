import type { Runtime } from "../core/ports/runtime.ts";

/** A part of the service that starts, follows the configuration or stops. */
export interface ServicePart {
  /** Starts only when the service listens, not when it is embedded in another program. */
  needsPort?: true;
  start?(runtime: Runtime): void;
  /** Called after the start, and with each runtime that replaces the one in use. */
  use?(runtime: Runtime): void;
  stop?(): void | Promise<void>;
}

export interface Lifecycle {
  /** Starts the parts that are not started, in order; without `hasPort` only those that need none. */
  start(runtime: Runtime, options: { hasPort: boolean }): void;
  replaced(runtime: Runtime): void;
  /** Stops all parts, the last one first. */
  stop(): Promise<void>;
}

/** Starts parts in the order of the list, and stops them in the reverse order. */
export function createLifecycle(parts: readonly ServicePart[]): Lifecycle {
  const started = new Set<ServicePart>();
  return {
    start(runtime, { hasPort }) {
      for (const part of parts) {
        if (started.has(part) || (part.needsPort && !hasPort)) continue;
        started.add(part);
        part.start?.(runtime);
        part.use?.(runtime);
      }
    },
    replaced(runtime) {
      for (const part of parts) if (started.has(part)) part.use?.(runtime);
    },
    async stop() {
      for (const part of parts.toReversed()) await part.stop?.();
    },
  };
}
