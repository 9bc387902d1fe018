import { error, type Finding } from "../finding.ts";
import type { ResolvedConfig } from "../resolved.ts";

/** Paths that the service answers itself. */
const TAKEN = ["/api", "/healthz", "/readyz", "/metrics"];

/**
 * Only characters that reach the service as they were written, whatever client or proxy they went through.
 */
const SEGMENTS = /^(\/[A-Za-z0-9._~-]+)+$/;

/**
 * The prefix of all hooks, its trailing slash already gone, can be told from everything else the service
 * answers.
 */
export function checkHooksPath({ hooks }: ResolvedConfig): Finding[] {
  const problem = describe(hooks.path);
  return problem === undefined ? [] : [error("hooks.path", problem)];
}

function describe(path: string): string | undefined {
  if (path === "") return 'must not be "/": every path would be a hook; take one like "/hooks"';
  if (!SEGMENTS.test(path)) return "must be made of /segments of letters, digits, - . _ and ~";
  if (path.split("/").some((segment) => segment === "." || segment.includes(".."))) {
    return 'must not hold ".." nor a segment "."';
  }
  const taken = TAKEN.find((prefix) => path === prefix || path.startsWith(`${prefix}/`));
  return taken && `must not be or lie under ${taken}, which the service answers itself`;
}
