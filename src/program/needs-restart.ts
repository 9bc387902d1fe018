import { isDeepStrictEqual } from "node:util";
import type { ResolvedConfig } from "../config/resolved.ts";
import type { ConfigProblem } from "../errors.ts";

/** What is taken up at the start alone: the socket, the state folder, the log. */
const FIXED: Record<string, (config: ResolvedConfig) => unknown> = {
  "gateway.host": ({ gateway }) => gateway.host,
  "gateway.port": ({ gateway }) => gateway.port,
  "gateway.trustedProxies": ({ gateway }) => gateway.trustedProxies,
  "store.path": ({ store }) => store.path,
  "log.level": ({ log }) => log.level,
};

/** Warns of every key that says something else than at the start, and is not heard before the next one. */
export function findUnheard(started: ResolvedConfig, now: ResolvedConfig): ConfigProblem[] {
  return Object.entries(FIXED)
    .filter(([, read]) => !isDeepStrictEqual(read(started), read(now)))
    .map(([key]) => ({ file: now.file, key, message: "was changed, which takes effect at the next start" }));
}
