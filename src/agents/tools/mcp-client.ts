import type * as Mcp from "@modelcontextprotocol/client";
import { codeOf } from "../../core/errors.ts";
import { packageVersion } from "../../core/shared/system/package.ts";
import { backoffMs, untilAborted } from "../../core/shared/time.ts";
import { NotSent, toUnknownOutcome } from "../../core/shared/net/connection.ts";
import type { Offer } from "../../core/ports/tool-set.ts";
import { findUnusable, normalizeAnswers, toOffer } from "./mcp-answers.ts";

export interface McpClient {
  /** Keeps one connection open for the work. Rejects with a `NotSent` if there is none, or as the work does. */
  use<Result>(signal: AbortSignal, work: (server: McpServer) => Promise<Result>): Promise<Result>;
  /** Ends the connection once no work uses it. A later one ends with the work that it was opened for. */
  close(): void;
}

interface McpServer {
  /** The server's offer; asked again after a change that it announced, and after a minute. Rejects with a `NotSent`. */
  listCalls(): Promise<Offer>;
  /** Rejects with a `NotSent`, a `ServerError`, or a `DriverError` if the outcome is not known. */
  call(name: string, args: Record<string, unknown>, options: SendOptions): Promise<Mcp.CallToolResult>;
}

interface SendOptions {
  callId: string;
  /** The call may be executed twice. */
  isRepeatable: boolean;
}

/** The server has answered that it did not execute the call. The message may hold text from outside. */
export class ServerError extends Error {
  override name = "ServerError";
  /** A sentence without text from outside. */
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The session was over, and what was asked in it was not done, or may be done twice. */
class SessionEnded extends Error {
  override name = "SessionEnded";
  /** The error of the call, if a new session ends as well. */
  readonly outcome: Error;

  constructor(outcome: Error) {
    super("the session has ended");
    this.outcome = outcome;
  }
}

interface Session {
  /** Rejects with a `NotSent`. */
  opened: Promise<Mcp.Client>;
  /** How many works use it or wait for it. */
  users: number;
  calls?: { listedAt: number; list: Promise<Offer> };
}

const BACKOFF = { firstMs: 1000, maxMs: 60_000 };
/** How long a server may take to say what it offers, and for how long that holds. */
const LIST_MS = 60_000;
const LIST_AGE_MS = 60_000;
/** A server of an older version may never answer the question for its version. */
const PROBE_MS = 5000;

interface ClientOptions {
  /** Else the server is a program. */
  isHttp: boolean;
  openTransport(mcp: typeof Mcp): Mcp.Transport;
  /** Is called with each list. */
  onList(offer: Offer): void;
}

/**
 * Keeps one connection to a server, opened at its first use. After a failure the next one is tried at first use, but not
 * before a time that doubles. `place`: the server in messages.
 */
export function createMcpClient(place: string, { isHttp, onList, openTransport }: ClientOptions): McpClient {
  let session: Session | undefined;
  let failures = 0;
  let retryAt = 0;
  let closed = false;
  return {
    async use(signal, work) {
      try {
        return await useOnce(signal, work);
      } catch (error) {
        if (!(error instanceof SessionEnded)) throw error;
        return useOnce(signal, work).catch((again: unknown) => {
          throw again instanceof SessionEnded ? again.outcome : again;
        });
      }
    },
    close() {
      closed = true;
      if (session) closeIfDone(session);
    },
  };

  async function useOnce<Result>(signal: AbortSignal, work: (server: McpServer) => Promise<Result>): Promise<Result> {
    const used = connect();
    used.users += 1;
    try {
      const client = await within(used.opened, signal, "could be reached");
      return await work({
        listCalls: () => within(list(used, client), signal, "said what it offers"),
        async call(name, args, { callId, isRepeatable }) {
          try {
            const params = { name, arguments: args, _meta: { "hookline/callId": callId } };
            // The caller has its own time limit.
            return await client.callTool(params, { signal, timeout: 2 ** 31 - 1 });
          } catch (error) {
            throw await toCallError(error, used, { signal, isRepeatable });
          }
        },
      });
    } finally {
      used.users -= 1;
      closeIfDone(used);
    }
  }

  /** All callers share the connection and the list, so one that stops waiting ends neither. */
  function within<Result>(shared: Promise<Result>, signal: AbortSignal, what: string): Promise<Result> {
    return untilAborted(shared, signal).catch((error: unknown) => {
      throw signal.aborted ? new NotSent(`The call was stopped before ${place} ${what}.`) : error;
    });
  }

  function connect(): Session {
    if (session) return session;
    if (Date.now() < retryAt) throw new NotSent(`${place} could not be reached, and is not tried again yet.`);
    const opening: Session = { users: 0, opened: open(() => opening) };
    session = opening;
    return opening;
  }

  async function open(opening: () => Session): Promise<Mcp.Client> {
    try {
      // A server that ends at a question it does not know is one of an older version.
      const client = await openAs("auto", opening).catch(() => openAs("legacy", opening));
      failures = 0;
      Object.assign(client, { onclose: () => forget(opening()) });
      return client;
    } catch (error) {
      forget(opening());
      failures += 1;
      retryAt = Date.now() + backoffMs(failures, BACKOFF);
      throw new NotSent(`${place} cannot be reached: ${await explain(error)}.`, { cause: error });
    }
  }

  async function openAs(mode: "auto" | "legacy", opening: () => Session): Promise<Mcp.Client> {
    const mcp = await import("@modelcontextprotocol/client");
    const client = new mcp.Client(
      { name: "hookline", version: packageVersion() },
      {
        // Neither sampling nor roots nor questions to the user.
        capabilities: {},
        inputRequired: { autoFulfill: false },
        versionNegotiation: { mode, probe: { timeoutMs: PROBE_MS } },
        // Results are text for a model. A schema of the server must not run here.
        jsonSchemaValidator: {
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Nothing reads it by its type.
          getValidator: () => (value) => ({ valid: true, data: value as never, errorMessage: undefined }),
        },
        listChanged: { tools: { onChanged: () => delete opening().calls, autoRefresh: false, debounceMs: 0 } },
      },
    );
    await client.connect(normalizeAnswers(openTransport(mcp), { isHttp }), { timeout: 30_000 });
    return client;
  }

  function list(used: Session, client: Mcp.Client): Promise<Offer> {
    if (used.calls && Date.now() - used.calls.listedAt < LIST_AGE_MS) return used.calls.list;
    const asked = client.listTools(undefined, { timeout: LIST_MS, cacheMode: "refresh" }).then(
      ({ tools }) => {
        const offer = toOffer(tools);
        onList(offer);
        return offer;
      },
      async (error: unknown) => {
        delete used.calls;
        forget(used);
        // Without users: those that waited may all have stopped.
        closeIfDone(used);
        const outcome = new NotSent(`${place} does not say what it offers: ${await explain(error)}.`, { cause: error });
        throw (await isOver(error)) ? new SessionEnded(outcome) : outcome;
      },
    );
    used.calls = { listedAt: Date.now(), list: asked };
    return asked;
  }

  async function toCallError(
    error: unknown,
    used: Session,
    { signal, isRepeatable }: { signal: AbortSignal; isRepeatable: boolean },
  ): Promise<Error> {
    const { ProtocolError, SdkHttpError } = await import("@modelcontextprotocol/client");
    if (signal.aborted) return toUnknownOutcome(place, error, signal);
    const unusable = findUnusable(error);
    if (error instanceof ProtocolError && unusable === undefined) {
      const refused = new ServerError(`${place} refused the call (${error.code})`, error.message);
      // Some servers say so of a call that they have begun, so only a read is repeated.
      if (error.code !== SESSION_NOT_FOUND || !isRepeatable) return refused;
      forget(used);
      return new SessionEnded(refused);
    }
    forget(used);
    if (error instanceof SdkHttpError && error.status >= 400 && error.status < 500) {
      const refused = new ServerError(`${error.status} from ${place}`, error.message);
      return (await isOver(error)) ? new SessionEnded(refused) : refused;
    }
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    if (cause instanceof NotSent) return new SessionEnded(cause);
    return toUnknownOutcome(place, new Error("", { cause: await explain(error) }), signal);
  }

  /** The next work opens a new connection. Work that uses this one keeps it until its end. */
  function forget(used: Session): void {
    if (session === used) session = undefined;
  }

  function closeIfDone(used: Session): void {
    if (closed && used.users === 0) forget(used);
    if (session === used || used.users > 0) return;
    used.opened.then((client) => client.close()).catch(() => {});
  }
}

/** A server of the official libraries says it of a session, and of a request that took too long. */
const SESSION_NOT_FOUND = -32001;

/** Whether a server has refused a request because of its session: nothing of it was done. */
async function isOver(error: unknown): Promise<boolean> {
  const { ProtocolError, SdkHttpError } = await import("@modelcontextprotocol/client");
  if (error instanceof ProtocolError) return error.code === SESSION_NOT_FOUND;
  if (!(error instanceof SdkHttpError)) return false;
  return error.status === 404 || ([400, 401].includes(error.status) && /session|not initialized/i.test(error.message));
}

/** The cause, without text from outside: it is shown to the model and in the log as this program's own. */
async function explain(error: unknown): Promise<string> {
  const { ProtocolError, SdkError, SdkHttpError } = await import("@modelcontextprotocol/client");
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof NotSent) return cause.message.replace(/\.$/, "");
  const unusable = findUnusable(error);
  if (unusable !== undefined) return unusable;
  if (error instanceof ProtocolError) return `it answered with the error ${error.code}`;
  if (error instanceof SdkHttpError) return `it answered ${error.status}`;
  const code = error instanceof SdkError ? error.code : (codeOf(error) ?? codeOf(cause));
  return code === undefined ? "its answer cannot be read" : `it failed with ${code}`;
}
