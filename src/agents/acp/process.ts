import type { ClientContext, RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { DriverError } from "../../errors.ts";
import { collectTail, createProcessGroup } from "../process.ts";

export interface AcpCall {
  /** The program and its arguments; no shell reads them. */
  command: readonly [string, ...string[]];
  cwd: string;
  /** All that the program's environment holds. */
  env: NodeJS.ProcessEnv;
}

/** A running agent that speaks the Agent Client Protocol on its standard streams. */
export interface AcpProgram {
  /** Resolves once both sides have agreed on a version, rejects where the program cannot be started or asked. */
  ready: Promise<ClientContext>;
  /** It can be asked no more. */
  isGone(): boolean;
  /** The end of what it wrote to standard error, once it has come: to be asked of a program that is gone or going. */
  lastWords(): Promise<string>;
  /** Leaves behind what it wrote to standard error up to now. */
  forgetWords(): void;
  /** SIGTERM to its process group, SIGKILL two seconds later. */
  end(): void;
  /** SIGKILL to its process group. */
  kill(): void;
}

/** Longer lines end the connection: a program has run wild. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;

/** How long after a program's end its last words may take, in milliseconds. */
const DRAIN_MS = 1000;

/** Starts an agent in a process group of its own. Throws where its arguments or its environment cannot be. */
export function startAcpProgram({ command: [file, ...args], cwd, env }: AcpCall): AcpProgram {
  const child = spawn(file, args, { cwd, env, detached: true });
  const group = child.pid === undefined ? undefined : createProcessGroup(child.pid);
  const words = collectTail(child.stderr);
  const silence = new Promise((resolve) => child.stderr.once("close", resolve));
  let gone = group === undefined;
  child.once("exit", () => {
    kill();
    setTimeout(() => hangUp(child), DRAIN_MS).unref();
  });
  const ready = once(child, "spawn").then(() => connect(child, kill));
  // whoever asks hears of it; an agent that cannot be asked is of no use
  ready.catch(kill);
  return { ready, isGone: () => gone, lastWords, forgetWords: words.clear, end, kill };

  async function lastWords(): Promise<string> {
    await Promise.race([silence, sleep(DRAIN_MS, undefined, { ref: false })]);
    return words.text();
  }

  function end(): void {
    if (!gone) group?.end();
  }

  /** Once only: a later process may bear the same id. */
  function kill(): void {
    if (gone) return;
    gone = true;
    group?.kill();
  }
}

/** Somebody who left the group may hold the pipes open for as long as they like. */
function hangUp({ stdout, stderr }: ChildProcessWithoutNullStreams): void {
  stdout.destroy();
  stderr.destroy();
}

/** `onClose`: the connection has ended. Tells the agent that this client offers it neither files nor a terminal. */
async function connect({ stdin, stdout }: ChildProcessWithoutNullStreams, onClose: () => void): Promise<ClientContext> {
  const { client, methods, ndJsonStream, PROTOCOL_VERSION } = await import("@agentclientprotocol/sdk");
  const stream = ndJsonStream(Writable.toWeb(stdin), Readable.toWeb(stdout), {
    maxMessageBytes: MAX_LINE_BYTES,
  });
  const { agent, closed } = client({ name: "hookline" })
    .onRequest(methods.client.session.requestPermission, ({ params }) => refuse(params))
    .connect(stream);
  void closed.then(onClose);
  const { protocolVersion } = await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: {},
  });
  if (protocolVersion === PROTOCOL_VERSION) return agent;
  throw new DriverError(
    `The agent speaks version ${protocolVersion} of the Agent Client Protocol; expected ${PROTOCOL_VERSION}.`,
    { retryable: false },
  );
}

/** Nobody is there who could approve. */
function refuse({ options }: RequestPermissionRequest): RequestPermissionResponse {
  const rejection =
    options.find(({ kind }) => kind === "reject_once") ?? options.find(({ kind }) => kind === "reject_always");
  if (!rejection) return { outcome: { outcome: "cancelled" } };
  return { outcome: { outcome: "selected", optionId: rejection.optionId } };
}

/** The agent was lost while it was asked. The message is what it had written to standard error; may be empty. */
export class AcpLoss extends Error {
  override name = "AcpLoss";
}
