import type { UserConfig } from "../core/config/schema/generated.ts";
import type { ConfigProblem } from "../core/errors.ts";

// The service as a program that uses it as a library sees it. These types need none of Node's, so that they compile everywhere.

export interface HooklineOptions {
  /** A configuration, or the path of its file, which is read again at every reload. */
  config: string | UserConfig;
  /** The values of `${NAME}`. Default: the environment of the process. */
  env?: Record<string, string | undefined>;
  /** Override `gateway.host` and `gateway.port`. */
  host?: string;
  port?: number;
  /** Overrides `gateway.role`. */
  role?: "all" | "ingress" | "worker";
  /** Reload when a file of the configuration changes. Default: true. */
  watch?: boolean;
}

export interface Hookline {
  /** Opens the port, then starts to execute what the journal holds and to watch the configured mailbox. */
  listen(): Promise<{ url: string; port: number }>;
  /** Serves a request without a socket. The first one also starts to execute what the journal holds. */
  handle(request: Request): Promise<Response>;
  /** Replaces the runtime with a new one built from the configuration, or throws a `ConfigError` and keeps the old one. */
  reload(): Promise<void>;
  /** The problems of the configuration in use that do not keep it from working. */
  warnings(): ConfigProblem[];
  /** The work that `close` would wait for. */
  inFlight(): { turns: number; deliveries: number };
  /** Refuses new requests, finishes what is in flight, closes everything. */
  close(): Promise<void>;
}
