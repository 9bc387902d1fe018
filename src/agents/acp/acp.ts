import type { FromSchema } from "json-schema-to-ts";
import path from "node:path";
import { codeOf, DriverError } from "../../errors.ts";
import type { DriverContext, DriverDefinition } from "../../plugin.ts";
import { checkProgram, programSchema, toProgramEnvironment } from "../command.ts";
import type { AgentDriver, AgentReply } from "../driver.ts";
import { assertNotAborted, toProgramMessage, toStartError } from "../errors.ts";
import { requireModelId } from "../model.ts";
import type { AcpAnswer } from "./session.ts";
import { AgentLost, type AcpWorker, createAcpWorker } from "./worker.ts";

type AcpOptions = FromSchema<typeof programSchema>;

export const acp: DriverDefinition<AgentDriver, AcpOptions> = {
  schema: programSchema,
  check: checkProgram,
  create: createAcp,
};

/** JSON-RPC: an internal error, so the next attempt may succeed. */
const INTERNAL_ERROR = -32603;
/** The protocol's own code. */
const AUTHENTICATION_REQUIRED = -32000;

/**
 * Runs turns on an agent that speaks the Agent Client Protocol: one program for all turns, one of its sessions for each
 * session key. A program that is lost is started again and given the history. The caller runs the turns of one session
 * one after the other.
 */
export function createAcp(
  { command, cwd = "", env = {} }: AcpOptions,
  { name, baseDir }: Pick<DriverContext, "name" | "baseDir">,
): AgentDriver {
  const options = { command, cwd: path.resolve(baseDir, cwd), env: toProgramEnvironment(env) };
  const secrets = Object.values(env);
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
    worker = createAcpWorker(options);
    return worker;
  }
}

/** A text that was cut short by a limit is a reply with a warning. */
function toReply(name: string, { text, stopReason, warnings }: AcpAnswer, model: string | undefined): AgentReply {
  if (stopReason === "end_turn") return { text, model, warnings };
  if (stopReason === "refusal" || stopReason === "cancelled" || text.trim() === "") {
    const retryable = stopReason === "cancelled";
    throw new DriverError(`${name} ended with "${stopReason}" before it wrote a reply.`, { retryable });
  }
  return { text, model, warnings: [...warnings, `The reply may be incomplete: it ended with "${stopReason}".`] };
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
