import type { UserConfig } from "../core/config/schema/generated.ts";
import type { ConfigProblem } from "../core/errors.ts";

// The service as a program that uses it as a library sees it. These types need none of Node's, so that they compile everywhere.

/** How the service is built. */
export interface HooklineOptions {
  /** A configuration, or the path of its file, which is read again at every reload. */
  config: string | UserConfig;
  /** The values of `${NAME}`. Default: the environment of the process. */
  env?: Record<string, string | undefined>;
  /** Overrides `gateway.host`. */
  host?: string;
  /** Overrides `gateway.port`. 0: any free port. */
  port?: number;
  /** Overrides `gateway.role`. */
  role?: "all" | "ingress" | "worker";
  /** Whether this start may change tables of an earlier version in the database. Default: `store.upgrade`. */
  upgradeStore?: boolean;
  /** Reload when a file of the configuration changes. Default: true. */
  watch?: boolean;
}

/** An `IncomingMessage` of `node:http`; from Express also with `originalUrl`, and with a Buffer `rawBody` where the body was read. */
export interface NodeRequest {
  method?: string | undefined;
  url?: string | undefined;
  headers: object;
}

/** A `ServerResponse` of `node:http`. */
export interface NodeResponse {
  statusCode: number;
  headersSent: boolean;
}

/** The service, which works once it listens, is started, or gets its first request. */
export interface Hookline {
  /** Opens the port, and starts the work. */
  listen(): Promise<{ url: string; port: number }>;
  /** Starts the work without a port: to execute what the journal holds, and to watch mailboxes and schedules. The first request does it too. */
  start(): void;
  /** Serves a request without a socket. `client`: the address that it came from; default: 127.0.0.1. */
  handle(request: Request, options?: { client?: string }): Promise<Response>;
  /**
   * Serves a request of `node:http`, or of a framework on it. With `next`, a request that is not below `hooks.path` is passed
   * on. Put it before what reads bodies: signatures are checked over the bytes. Never rejects, and needs no `this`.
   */
  nodeHandler(request: NodeRequest, response: NodeResponse, next?: () => void): Promise<void>;
  /** Replaces the runtime with a new one built from the configuration, or throws a `ConfigError` and keeps the old one. */
  reload(): Promise<void>;
  /** The problems of the configuration in use that do not keep it from working. */
  warnings(): ConfigProblem[];
  /** The work that `close` would wait for. */
  inFlight(): { turns: number; deliveries: number };
  /** Refuses new requests, finishes what is in flight, closes everything. */
  close(): Promise<void>;
}
