import type { ServerOptions } from "node:http";

/** Options of each listener whose requests reach the hooks, also that of a tunnel. */
export const SERVER_OPTIONS: ServerOptions = {
  // Longer than the largest `hooks.bodyTimeoutSeconds`: this one only ends connections that nobody waits for.
  requestTimeout: 330_000,
  headersTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 72_000,
  // Checked here instead, so that the answer has a body.
  requireHostHeader: false,
};
