import { watch } from "chokidar";
import type { Log } from "../telemetry/log.ts";

/** Events come in bursts: an editor's rename, a checkout, a folder swap. One pause, one rebuild. */
const QUIET_MS = 60;

export interface Watcher {
  /** Watches these files and folders from now on, and no others. */
  follow(paths: string[]): void;
  close(): Promise<void>;
}

/** Calls `changed` once things under the followed paths have been quiet for a moment. */
export function createWatcher(options: { changed(): void; log: Log }): Watcher {
  const watcher = watch([], {
    ignoreInitial: true,
    ignored: (path) => path.includes("/node_modules/") || path.includes("\\node_modules\\"),
  });
  let followed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  watcher.on("all", () => {
    clearTimeout(timer);
    timer = setTimeout(options.changed, QUIET_MS);
  });
  watcher.on("error", (error) => options.log.error("watching files failed", { error: String(error) }));

  return {
    follow(paths) {
      const next = new Set(paths);
      watcher.add(paths.filter((path) => !followed.has(path)));
      watcher.unwatch([...followed].filter((path) => !next.has(path)));
      followed = next;
    },
    async close() {
      clearTimeout(timer);
      await watcher.close();
    },
  };
}
