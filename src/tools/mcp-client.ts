import type * as Mcp from "@modelcontextprotocol/client";
import { codeOf } from "../errors.ts";
import { toObject } from "../shared/json.ts";
import { packageVersion } from "../shared/system/package.ts";
import { backoffMs, untilAborted } from "../shared/time.ts";
import { NotSent, toUnknownOutcome } from "./connection.ts";
import type { CallContext, CallDescription } from "./tool-set.ts";

export interface McpClient {
  /** What the server offers; asked again after a change that it announced, and after a minute. Rejects with a `NotSent`. */
  listCalls(signal: AbortSignal): Promise<ReadonlyMap<string, CallDescription>>;
  /** Rejects with a `NotSent`, a `ServerError`, or a `DriverError` if the outcome is not known. */
  call(
    name: string,
    args: Record<string, unknown>,
    options: Pick<CallContext, "signal" | "callId">,
  ): Promise<Mcp.CallToolResult>;
  close(): void;
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

interface Session {
  client: Mcp.Client;
  /** How many calls wait for their answer. */
  inFlight: number;
  /** No further call begins on it, and it is closed when the last one has ended. */
  isRetired: boolean;
  calls?: { listedAt: number; list: Promise<ReadonlyMap<string, CallDescription>> };
}

const BACKOFF = { firstMs: 1000, maxMs: 60_000 };
const LIST_AGE_MS = 60_000;
/** A server of an older version may never answer the question for its version. */
const PROBE_MS = 5000;

/**
 * Keeps one connection to a server, opened at its first use. After a failure the next one is tried at first use, but not
 * before a time that doubles. `place`: the server in messages.
 */
export function createMcpClient(place: string, openTransport: (mcp: typeof Mcp) => Mcp.Transport): McpClient {
  let session: Promise<Session> | undefined;
  let failures = 0;
  let retryAt = 0;
  return {
    async listCalls(signal) {
      return list(await connectWithin(signal), signal);
    },
    async call(name, args, { signal, callId }) {
      const opened = await connectWithin(signal);
      opened.inFlight += 1;
      try {
        const params = { name, arguments: args, _meta: { "hookline/callId": callId } };
        // The caller has its own time limit.
        return await opened.client.callTool(params, { signal, timeout: 2 ** 31 - 1 });
      } catch (error) {
        throw await toCallError(error, signal);
      } finally {
        opened.inFlight -= 1;
        closeIfDone(opened);
      }
    },
    close: retire,
  };

  /** A connection is opened for all callers, so one that stops waiting does not end it. */
  function connectWithin(signal: AbortSignal): Promise<Session> {
    return untilAborted(connect(), signal).catch((error: unknown) => {
      throw signal.aborted ? new NotSent(`The call was stopped before ${place} could be reached.`) : error;
    });
  }

  async function connect(): Promise<Session> {
    if (session) return session;
    if (Date.now() < retryAt) throw new NotSent(`${place} could not be reached, and is not tried again yet.`);
    const opening = open("auto")
      // A server that ends at a question it does not know is one of an older version.
      .catch(() => open("legacy"))
      .then(
        (opened) => {
          failures = 0;
          Object.assign(opened.client, { onclose: () => forget(opening) });
          return opened;
        },
        async (error: unknown) => {
          forget(opening);
          failures += 1;
          retryAt = Date.now() + backoffMs(failures, BACKOFF);
          throw new NotSent(`${place} cannot be reached: ${await explain(error)}.`, { cause: error });
        },
      );
    session = opening;
    return opening;
  }

  async function open(mode: "auto" | "legacy"): Promise<Session> {
    const mcp = await import("@modelcontextprotocol/client");
    const opened: Session = {
      inFlight: 0,
      isRetired: false,
      client: new mcp.Client(
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
          listChanged: { tools: { onChanged: () => delete opened.calls, autoRefresh: false } },
        },
      ),
    };
    await opened.client.connect(openTransport(mcp), { timeout: 30_000 });
    return opened;
  }

  function list(opened: Session, signal: AbortSignal): Promise<ReadonlyMap<string, CallDescription>> {
    if (opened.calls && Date.now() - opened.calls.listedAt < LIST_AGE_MS) return opened.calls.list;
    const asked = opened.client.listTools(undefined, { signal, cacheMode: "refresh" }).then(
      ({ tools }) => new Map(tools.map((tool) => [tool.name, toCall(tool)])),
      async (error: unknown) => {
        delete opened.calls;
        retire();
        throw new NotSent(`${place} does not say what it offers: ${await explain(error)}.`, { cause: error });
      },
    );
    opened.calls = { listedAt: Date.now(), list: asked };
    return asked;
  }

  async function toCallError(error: unknown, signal: AbortSignal): Promise<Error> {
    const { ProtocolError, SdkHttpError } = await import("@modelcontextprotocol/client");
    if (signal.aborted) return toUnknownOutcome(place, error, signal);
    if (error instanceof ProtocolError) {
      return new ServerError(`${place} refused the call (${error.code})`, error.message);
    }
    retire();
    if (error instanceof SdkHttpError && error.status >= 400 && error.status < 500) {
      return new ServerError(`${error.status} from ${place}`, error.message);
    }
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    if (cause instanceof NotSent) return cause;
    return toUnknownOutcome(place, new Error("", { cause: await explain(error) }), signal);
  }

  function forget(closed: Promise<Session>): void {
    if (session === closed) session = undefined;
  }

  /** The next call opens a new connection. */
  function retire(): void {
    const retired = session;
    session = undefined;
    if (retired) void closeLater(retired).catch(() => {});
  }
}

async function closeLater(retired: Promise<Session>): Promise<void> {
  const opened = await retired;
  opened.isRetired = true;
  closeIfDone(opened);
}

function closeIfDone({ client, inFlight, isRetired }: Session): void {
  if (isRetired && inFlight === 0) client.close().catch(() => {});
}

function toCall({ name, description = "", inputSchema }: Mcp.Tool): CallDescription {
  return { name, description, input: toObject(inputSchema) };
}

/** What happened, without text from outside: it is shown to the model and in the log as this program's own. */
async function explain(error: unknown): Promise<string> {
  const { ProtocolError, SdkError, SdkHttpError } = await import("@modelcontextprotocol/client");
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof NotSent) return cause.message.replace(/\.$/, "");
  if (error instanceof ProtocolError) return `it answered with the error ${error.code}`;
  if (error instanceof SdkHttpError) return `it answered ${error.status}`;
  const code = error instanceof SdkError ? error.code : (codeOf(error) ?? codeOf(cause));
  return code === undefined ? "its answer cannot be read" : `it failed with ${code}`;
}
