import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { codeOf, DriverError } from "../core/errors.ts";
import type { AgentDriver, AgentReply, AgentTurn } from "../core/ports/agent.ts";
import type { DriverDefinition } from "../core/ports/driver.ts";
import { type RunningProcess, startProcess } from "../core/shared/system/child-process.ts";
import { settlesWithin } from "../core/shared/time.ts";
import { type AcpAgent, type AcpAnswer, openAcpSession } from "./acp-session.ts";
import { assertNotAborted, requireModelId, toProgramMessage, warnOfIncomplete } from "./errors.ts";
import {
  checkProgram,
  preparePrograms,
  type ProgramContext,
  type ProgramOptions,
  programSchema,
  withFileNames,
  type TurnProgram,
} from "./workspace/program.ts";

export const acp: DriverDefinition<AgentDriver, ProgramOptions> = {
  schema: programSchema,
  check: checkProgram,
  create: createAcp,
};

/** JSON-RPC: an internal error, so the next attempt may succeed. */
const INTERNAL_ERROR = -32603;
const AUTHENTICATION_REQUIRED = -32000;

/**
 * Runs turns on an agent that speaks the Agent Client Protocol: a program for each turn, which continues the agent's own session
 * of the session key if it can. Otherwise a new one is given the history.
 */
export function createAcp(options: ProgramOptions, context: ProgramContext): AgentDriver {
  const { name } = context;
  const secrets = Object.values(options.env ?? {});
  const prepare = preparePrograms(options, { ...context, kind: "acp" });
  return {
    name,
    makesCalls: () => options.sandbox !== false,
    hasWorkspaces: () => options.sandbox !== false,
    async run(given, signal) {
      const turn = withFileNames(given, options);
      const model = requireModelId(name, turn.model);
      assertNotAborted(name, signal);
      try {
        return await prepare({ ...turn, model }, signal, async (program, turnSignal) => {
          const message = program.words + turn.message;
          const answer = await runProgram(program, { ...turn, message, model }, turnSignal);
          assertNotAborted(name, turnSignal);
          return toReply(name, answer, turn.model);
        });
      } catch (error) {
        assertNotAborted(name, signal);
        throw toDriverError(error, { name, secrets });
      }
    },
  };
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
  if (code === AUTHENTICATION_REQUIRED) {
    return new DriverError(
      `${name} requires a login: log in with the program itself, or set a key in agents.providers.${name}.env.`,
      { retryable: false },
    );
  }
  return new DriverError(`${name} failed: ${message}`, { retryable: code === INTERNAL_ERROR });
}

/** The message is what the program wrote to standard error before its prompt; may be empty. */
class AgentLost extends Error {
  override name = "AgentLost";
}

const CANCEL_GRACE_MS = 2000;
/** How long a program may take to end by itself, so that it can write what it keeps. */
const END_GRACE_MS = 5000;
/** The longest title of a request for a permission, in characters. */
const MAX_TITLE = 100;
/** A longer line ends the connection. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;

/**
 * Starts the program, asks it, and ends it. When the signal aborts, the turn is canceled, and the program killed if it has not
 * stopped two seconds later. Rejects with `AgentLost` when the program ends or the connection breaks.
 */
async function runProgram(
  program: TurnProgram,
  turn: AgentTurn & { model: string },
  signal: AbortSignal,
): Promise<AcpAnswer> {
  const process = startProcess(program.process);
  let grace: NodeJS.Timeout | undefined;
  let prompted = false;
  let cancelSession = (): void => {};
  const cancel = (): void => {
    cancelSession();
    grace = setTimeout(process.kill, CANCEL_GRACE_MS);
  };
  signal.addEventListener("abort", cancel, { once: true });
  try {
    if (signal.aborted) cancel();
    await process.started;
    const session = await openAcpSession(await connect(process, program.isBoxed), program, turn);
    cancelSession = session.cancel;
    signal.throwIfAborted();
    prompted = true;
    return await session.ask(turn);
  } catch (error) {
    // Errors of this service, of the system and of the agent are kept. Any other means that the connection broke.
    if (error instanceof DriverError || codeOf(error) !== undefined) throw error;
    // After a prompt standard error may quote it.
    throw new AgentLost(prompted ? "" : await process.stderrTail(), { cause: error });
  } finally {
    signal.removeEventListener("abort", cancel);
    clearTimeout(grace);
    await endProgram(process);
  }
}

/** The next turn of the session must not find it still writing. */
async function endProgram({ child, isRunning, kill }: RunningProcess): Promise<void> {
  if (!isRunning()) return;
  const ended = once(child, "exit");
  child.stdin.end();
  if (await settlesWithin(ended, END_GRACE_MS)) return;
  kill();
  await ended;
}

/** Offers the agent neither files nor a terminal. In a sandbox it may do what it asks for: the system bounds it. */
async function connect({ child: { stdin, stdout }, kill }: RunningProcess, isBoxed: boolean): Promise<AcpAgent> {
  const { client, methods, ndJsonStream, PROTOCOL_VERSION } = await import("@agentclientprotocol/sdk");
  const stream = ndJsonStream(Writable.toWeb(stdin), Readable.toWeb(stdout), { maxMessageBytes: MAX_LINE_BYTES });
  const refused: string[] = [];
  const listeners: AcpAgent["listeners"] = new Set();
  const { agent, closed } = client({ name: "hookline" })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      if (isBoxed) return answerPermission(params, "allow_once", "allow_always");
      const { title, kind, toolCallId } = params.toolCall;
      refused.push((title ?? kind ?? toolCallId).slice(0, MAX_TITLE));
      // There is nobody who could approve.
      return answerPermission(params, "reject_once", "reject_always");
    })
    .onNotification(methods.client.session.update, ({ params: { sessionId, update } }) => {
      for (const listen of listeners) listen(sessionId, update);
    })
    .connect(stream);
  void closed.then(kill);
  const { protocolVersion, agentCapabilities = {} } = await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: {},
  });
  if (protocolVersion === PROTOCOL_VERSION) {
    return { context: agent, capabilities: agentCapabilities, refused, listeners };
  }
  throw new DriverError(
    `The agent speaks version ${protocolVersion} of the Agent Client Protocol; expected ${PROTOCOL_VERSION}.`,
    { retryable: false },
  );
}

/** The first of these kinds that the agent offers. */
function answerPermission({ options }: RequestPermissionRequest, ...kinds: string[]): RequestPermissionResponse {
  const [chosen] = kinds.flatMap((kind) => options.find((option) => option.kind === kind) ?? []);
  return { outcome: chosen ? { outcome: "selected", optionId: chosen.optionId } : { outcome: "cancelled" } };
}
