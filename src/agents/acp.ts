import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import type { FromSchema } from "json-schema-to-ts";
import { Readable, Writable } from "node:stream";
import { codeOf, DriverError } from "../core/errors.ts";
import type { DriverContext, DriverDefinition } from "../core/ports/driver.ts";
import { type ProcessOptions, type RunningProcess, startProcess } from "../core/shared/system/child-process.ts";
import { checkProgram, programSchema, toProcess } from "./command.ts";
import type { AgentDriver, AgentReply, AgentTurn } from "../core/ports/agent.ts";
import { assertNotAborted, requireModelId, toProgramMessage, toStartError, warnOfIncomplete } from "./errors.ts";
import { type AcpAgent, type AcpAnswer, type AcpSession, openAcpSession } from "./acp-session.ts";

type AcpOptions = FromSchema<typeof programSchema>;

export const acp: DriverDefinition<AgentDriver, AcpOptions> = {
  schema: programSchema,
  check: checkProgram,
  create: createAcp,
};

/** JSON-RPC: an internal error, so the next attempt may succeed. */
const INTERNAL_ERROR = -32603;
const AUTHENTICATION_REQUIRED = -32000;

/**
 * Runs turns on an agent that speaks the Agent Client Protocol: one program for all turns, one of its sessions for each
 * session key. A program that is lost is started again and given the history. The caller runs the turns of one session
 * one after the other.
 */
export function createAcp(
  options: AcpOptions,
  { name, baseDir }: Pick<DriverContext, "name" | "baseDir">,
): AgentDriver {
  const secrets = Object.values(options.env ?? {});
  let worker: AcpWorker | undefined;
  let closed = false;

  return {
    name,
    async run(turn, signal) {
      const model = requireModelId(name, turn.model);
      assertNotAborted(name, signal);
      try {
        const current = takeWorker();
        const answering = current.ask({ ...turn, model }, signal);
        // The turn may have been given this driver before it was closed.
        if (closed) current.retire();
        const answer = await answering;
        assertNotAborted(name, signal);
        return toReply(name, answer, turn.model);
      } catch (error) {
        assertNotAborted(name, signal);
        throw toDriverError(error, { name, secrets });
      }
    },
    close() {
      closed = true;
      worker?.retire();
    },
  };

  function takeWorker(): AcpWorker {
    if (worker && !worker.isSpent()) return worker;
    worker?.retire();
    worker = createAcpWorker(toProcess(options, baseDir));
    return worker;
  }
}

/** A text that was cut short by a limit is a reply with a warning. */
function toReply(name: string, { stopReason, ...answer }: AcpAnswer, model: string | undefined): AgentReply {
  const { text, warnings } = answer;
  if (stopReason === "end_turn") return { ...answer, model };
  const isReply = stopReason !== "refusal" && stopReason !== "cancelled";
  const cut = { text: isReply ? text : "", reason: stopReason, retryable: stopReason === "cancelled" };
  return { ...answer, model, warnings: [...warnings, warnOfIncomplete(name, cut)] };
}

function toDriverError(error: unknown, { name, secrets }: { name: string; secrets: string[] }): DriverError {
  if (error instanceof DriverError) return error;
  const message = error instanceof Error ? toProgramMessage(error.message, secrets) : "";
  if (error instanceof AgentLost) {
    return new DriverError(`${name} was lost before it replied${message ? `: ${message}` : "."}`, { retryable: true });
  }
  const code = codeOf(error);
  if (typeof code === "string") return toStartError(name, error);
  if (code === AUTHENTICATION_REQUIRED) {
    return new DriverError(
      `${name} requires a login: log in with the program itself, or set a key in agents.providers.${name}.env.`,
      { retryable: false },
    );
  }
  return new DriverError(`${name} failed: ${message}`, { retryable: code === INTERNAL_ERROR });
}

interface AcpWorker {
  /**
   * Runs a turn in the session of its key. When the signal aborts, the turn is canceled and the agent killed if it has not
   * stopped two seconds later. Rejects with `AgentLost` when the program ends or the connection breaks.
   */
  ask(turn: AgentTurn & { model: string }, signal: AbortSignal): Promise<AcpAnswer>;
  /** Takes no further turn: the program has ended, or has had its share of sessions. */
  isSpent(): boolean;
  /** Ends the program once no turn is running. */
  retire(): void;
}

/** The message is what the program wrote to standard error before its first prompt; may be empty. */
class AgentLost extends Error {
  override name = "AgentLost";
}

/** Agents keep every session in memory, so one that has had this many is replaced. */
const MAX_SESSIONS = 100;
const CANCEL_GRACE_MS = 2000;
/** The longest title of a request for a permission, in characters. */
const MAX_TITLE = 100;
/** A longer line ends the connection. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;

/** Starts the agent. Throws for invalid arguments or environment values. */
function createAcpWorker(options: ProcessOptions & { cwd: string }): AcpWorker {
  const process = startProcess(options);
  const agent = process.started.then(() => connect(process));
  // The turns that wait for it see the rejection.
  agent.catch(process.kill);
  const sessions = new Map<string, AcpSession>();
  let openedSessions = 0;
  let runningTurns = 0;
  let prompted = false;
  let retired = false;

  return { ask, isSpent: () => retired || openedSessions >= MAX_SESSIONS || !process.isRunning(), retire };

  async function ask(turn: AgentTurn & { model: string }, signal: AbortSignal): Promise<AcpAnswer> {
    let grace: NodeJS.Timeout | undefined;
    const cancel = (): void => {
      sessions.get(turn.sessionKey)?.cancel();
      grace = setTimeout(process.kill, CANCEL_GRACE_MS);
    };
    signal.addEventListener("abort", cancel, { once: true });
    runningTurns += 1;
    try {
      const session = await takeSession(turn);
      signal.throwIfAborted();
      prompted = true;
      return await session.ask(turn);
    } catch (error) {
      forgetSession(turn.sessionKey);
      // Errors of this service, of the system and of the agent are kept. Any other means that the connection broke.
      if (error instanceof DriverError || codeOf(error) !== undefined) throw error;
      // After a prompt standard error may quote it, and all sessions share standard error.
      throw new AgentLost(prompted ? "" : await process.stderrTail(), { cause: error });
    } finally {
      signal.removeEventListener("abort", cancel);
      clearTimeout(grace);
      if (signal.aborted) forgetSession(turn.sessionKey);
      runningTurns -= 1;
      endIfIdle();
    }
  }

  /** A turn without a history starts a new session, whatever the agent remembers. */
  async function takeSession({ sessionKey, history }: AgentTurn): Promise<AcpSession> {
    const known = sessions.get(sessionKey);
    if (known && history.length > 0) return known;
    forgetSession(sessionKey);
    openedSessions += 1;
    const session = await openAcpSession(await agent, options.cwd);
    sessions.set(sessionKey, session);
    return session;
  }

  /** After a failed turn the agent's session differs from the stored history. */
  function forgetSession(sessionKey: string): void {
    sessions.get(sessionKey)?.close();
    sessions.delete(sessionKey);
  }

  function retire(): void {
    retired = true;
    endIfIdle();
  }

  function endIfIdle(): void {
    if (retired && runningTurns === 0) process.end();
  }
}

/** Offers the agent neither files nor a terminal. */
async function connect({ child: { stdin, stdout }, kill }: RunningProcess): Promise<AcpAgent> {
  const { client, methods, ndJsonStream, PROTOCOL_VERSION } = await import("@agentclientprotocol/sdk");
  const stream = ndJsonStream(Writable.toWeb(stdin), Readable.toWeb(stdout), { maxMessageBytes: MAX_LINE_BYTES });
  const refusals: AcpAgent["refusals"] = new Map();
  const { agent, closed } = client({ name: "hookline" })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      const { title, kind, toolCallId } = params.toolCall;
      const what = (title ?? kind ?? toolCallId).slice(0, MAX_TITLE);
      refusals.set(params.sessionId, [...(refusals.get(params.sessionId) ?? []), what]);
      return rejectPermission(params);
    })
    .connect(stream);
  void closed.then(kill);
  const { protocolVersion } = await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: {},
  });
  if (protocolVersion === PROTOCOL_VERSION) return { context: agent, refusals };
  throw new DriverError(
    `The agent speaks version ${protocolVersion} of the Agent Client Protocol; expected ${PROTOCOL_VERSION}.`,
    { retryable: false },
  );
}

/** There is nobody who could approve. */
function rejectPermission({ options }: RequestPermissionRequest): RequestPermissionResponse {
  const rejection =
    options.find(({ kind }) => kind === "reject_once") ?? options.find(({ kind }) => kind === "reject_always");
  return { outcome: rejection ? { outcome: "selected", optionId: rejection.optionId } : { outcome: "cancelled" } };
}
