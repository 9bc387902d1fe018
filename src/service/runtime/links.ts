import { type FSWatcher, lstatSync, readlinkSync, realpathSync, watch } from "node:fs";
import path from "node:path";

/** Linux follows the same number. */
const MAX_LINKS = 40;

export interface LinkWatcher {
  /** Watches the symbolic links on the way to these paths from now on, and no others. */
  follow(paths: string[]): void;
  close(): void;
}

/**
 * Calls `replaced` when a link on the way to a followed path leads to another place. A watch of the path itself is a watch
 * of the file behind the links, which such a swap leaves as it is. `failed`: the system cannot watch.
 */
export function createLinkWatcher(replaced: (link: string) => void, failed: (error: unknown) => void): LinkWatcher {
  /** The targets of the links. */
  let targets = new Map<string, string>();
  /** By the folder that contains links. */
  const watchers = new Map<string, FSWatcher>();

  return {
    follow(paths) {
      targets = new Map(paths.flatMap(findLinks));
      // All start again: a watch ends with a folder that was deleted and created again.
      for (const [folder, watcher] of watchers) stop(folder, watcher);
      for (const folder of new Set([...targets.keys()].map((link) => path.dirname(link)))) start(folder);
    },
    close() {
      for (const [folder, watcher] of watchers) stop(folder, watcher);
    },
  };

  function start(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => check(path.join(folder, name ?? "")));
      watcher.on("error", failed);
      watchers.set(folder, watcher);
    } catch (error) {
      failed(error);
    }
  }

  function stop(folder: string, watcher: FSWatcher): void {
    watcher.close();
    watchers.delete(folder);
  }

  function check(link: string): void {
    const target = readTarget(link);
    // A link that is replaced in two steps is away for a moment.
    if (!targets.has(link) || target === undefined || target === targets.get(link)) return;
    targets.set(link, target);
    replaced(link);
  }
}

/** The links that the system follows on the way to a path, each with its target. */
function findLinks(file: string): [link: string, target: string][] {
  if (isDirect(file)) return [];
  const links: [string, string][] = [];
  const { root } = path.parse(path.resolve(file));
  let place = root;
  let names = toNames(path.resolve(file));
  while (names.length > 0 && links.length < MAX_LINKS) {
    const next = path.join(place, names[0] ?? "");
    const target = readTarget(next);
    names = names.slice(1);
    if (target === undefined) place = next;
    else {
      links.push([next, target]);
      names = [...toNames(path.resolve(place, target)), ...names];
      place = root;
    }
  }
  return links;
}

function toNames(file: string): string[] {
  return file.split(path.sep).slice(1).filter(Boolean);
}

function isDirect(file: string): boolean {
  try {
    return realpathSync.native(file) === file;
  } catch {
    return false;
  }
}

/** undefined: it is no link. */
function readTarget(file: string): string | undefined {
  try {
    return lstatSync(file).isSymbolicLink() ? readlinkSync(file) : undefined;
  } catch {
    return undefined;
  }
}
