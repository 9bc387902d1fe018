import { toCommand } from "../../core/shared/text/command.ts";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { FromSchema } from "json-schema-to-ts";
import path from "node:path";
import { DriverError } from "../../core/errors.ts";
import type { DriverContext, DriverDefinition, OptionProblem } from "../../core/ports/driver.ts";
import { findMissingProgram, pickEnvironment, resolveCommand } from "../../core/shared/system/child-process.ts";
import { HTTP_URL, objectSchema, parseObject, TEXTS, COMMAND } from "../../core/shared/json.ts";
import { type Connection, findAddressProblem, NotSent, openConnection } from "../../core/shared/net/connection.ts";
import { limitFetch } from "../../core/shared/net/limited-fetch.ts";
import { findHeaderProblem } from "./headers.ts";
import { type Log, silentLog } from "../../core/telemetry/log.ts";
import { toOneLine } from "../../core/shared/text/text.ts";
import { hashCall, readLockedCalls } from "./lock.ts";
import { readAnswer } from "./mcp-answers.ts";
import { createMcpClient, type McpClient, ServerError } from "./mcp-client.ts";
import { createStdio } from "./stdio.ts";
import {
  type CallDescription,
  type CallResult,
  type Offer,
  toError,
  type ToolCall,
  type ToolSet,
} from "../../core/ports/tool-set.ts";

const schema = {
  description: "The tools of an MCP server, as far as tools.lock.json has them.",
  ...objectSchema([], {
    url: { ...HTTP_URL, description: "Address of a server over streamable HTTP. Either this or command." },
    private: {
      type: "boolean",
      default: false,
      description: "With url: the host may be this machine or in a private network.",
    },
    headers: {
      ...TEXTS,
      description: "With url: headers of every request, such as its credential.",
    },
    command: {
      ...COMMAND,
      description:
        "A server as a program with its arguments, run without a shell as the service's user. A path of the program, and an argument that begins with ./ or ../ or names a file there, is relative to the configuration file. Either this or url.",
    },
    env: {
      ...TEXTS,
      description:
        "With command: what its environment has besides PATH, LANG and HOME, which is its own folder in the state folder.",
    },
  }),
} as const;

type McpOptions = FromSchema<typeof schema>;

export const mcp: DriverDefinition<ToolSet, McpOptions> = { schema, check, create: createMcp };

function check(
  { url, command, headers, env }: McpOptions,
  { baseDir }: Pick<DriverContext, "baseDir">,
): OptionProblem[] {
  if ((url === undefined) === (command === undefined)) return [{ message: "Set either url or command." }];
  if (command) {
    if (headers) return [{ key: "headers", message: "Headers are for url. Give a program its settings in env." }];
    return findMissingProgram(command, { cwd: baseDir, env: { ...pickEnvironment(["PATH"]), ...env } });
  }
  const message = findAddressProblem(url ?? "", "https://mcp.example.com/mcp");
  if (message) return [{ key: "url", message }];
  if (env) return [{ key: "env", message: "Variables are for command. Give a server its credential in headers." }];
  return findHeaderProblem(headers ?? {});
}

export function createMcp(
  { url, private: isPrivate, headers, command = [], env = {} }: McpOptions,
  {
    name,
    baseDir,
    configDir = baseDir,
    stateDir,
    log,
  }: Pick<DriverContext, "name" | "baseDir" | "configDir" | "stateDir"> & { log?: Log },
): ToolSet {
  const connection = url === undefined ? undefined : openConnection({ baseUrl: url, private: isPrivate });
  const send = connection && limitAnswers(readAnswers(connection));
  const place = connection?.host ?? `the program ${path.basename(command[0] ?? "")}`;
  /** The end of what the program wrote. */
  let stderr = async (): Promise<string> => "";
  const client = createMcpClient(place, {
    isHttp: send !== undefined,
    onList: createReport(name, log),
    openTransport: ({ StreamableHTTPClientTransport, deserializeMessage }) =>
      send
        ? new StreamableHTTPClientTransport(new URL(url!), {
            requestInit: { headers },
            fetch: send,
            reconnectionOptions: {
              initialReconnectionDelay: 1000,
              maxReconnectionDelay: 1000,
              reconnectionDelayGrowFactor: 1,
              maxRetries: 0,
            },
          })
        : createStdio({
            command: resolveCommand(command, baseDir),
            env,
            folder: stateDir,
            parse: deserializeMessage,
            onStart: (program) => (stderr = program.stderrTail),
          }),
  });
  const accepted = readLockedCalls(configDir, name);
  return {
    name,
    calls: accepted.calls.map((locked) => ({ ...toToolCall(name, locked, client), address: url ?? place })),
    leftOut: accepted.leftOut,
    async discover(signal) {
      try {
        return await client.use(signal, ({ listCalls }) => listCalls());
      } catch (error) {
        if (!(error instanceof NotSent)) throw error;
        const said = await stderr();
        const message = said === "" ? error.message : `${error.message} It wrote: ${said}`;
        throw new DriverError(message, { retryable: true, cause: error });
      }
    },
    close() {
      client.close();
      connection?.close();
    },
  };
}

/** Logs each call that a server offers and that cannot be used, once. */
function createReport(set: string, log = silentLog): (offer: Offer) => void {
  const known = new Set<string>();
  return ({ leftOut }) => {
    for (const { name, reason } of leftOut) {
      const call = toOneLine(`${set}.${name}`);
      if (known.has(call) || known.size >= MAX_REPORTED) continue;
      known.add(call);
      log.warn("a tool is left out", { call, reason });
    }
  };
}

const MAX_REPORTED = 1000;

function toToolCall(set: string, locked: CallDescription, client: McpClient): ToolCall {
  return {
    ...locked,
    async call(args, { signal, callId, maxLength, isRepeatable = false }) {
      if (signal.aborted) throw new DriverError("The call was stopped before it was sent.", { retryable: true });
      try {
        return await client.use(signal, async (server) => {
          const { calls, leftOut } = await server.listCalls();
          const offered = calls.find(({ name }) => name === locked.name);
          if (!offered || !LOCK_RULES.isSame(offered, locked)) {
            const isOffered = [...calls, ...leftOut].some(({ name }) => name === locked.name);
            return toChanged(set, locked.name, isOffered);
          }
          return toResult(await server.call(locked.name, args, { callId, isRepeatable }), maxLength);
        });
      } catch (error) {
        if (error instanceof NotSent) return { ...toError(error.message), isUnreached: true };
        if (error instanceof ServerError)
          return toError(error.reason, `${error.reason}\n${error.message}`.slice(0, maxLength));
        if (error instanceof DriverError || !signal.aborted) throw error;
        throw new DriverError("The call was stopped.", { retryable: true, cause: error });
      }
    },
  };
}

/** The tests of injections replace them. */
export const LOCK_RULES = {
  isSame: (offered: CallDescription, locked: CallDescription): boolean => hashCall(offered) === hashCall(locked),
};

/** The operator has accepted another text than the server has now. */
function toChanged(set: string, call: string, isOffered: boolean): CallResult {
  const what = isOffered ? "differs from what was accepted" : "is no longer offered by its server";
  const reason = `Not sent: ${set}.${call} ${what}. See: ${toCommand("tools accept", set)}`;
  return { ...toError(reason), isChanged: true };
}

function toResult({ content, structuredContent, isError = false }: CallToolResult, maxLength: number): CallResult {
  const parts = content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`));
  const text =
    parts.length === 0 && structuredContent !== undefined ? JSON.stringify(structuredContent) : parts.join("\n");
  return {
    text: text.slice(0, maxLength),
    isError,
    ...(isError && { reason: "the server answered with an error" }),
  };
}

/** Answers to what a server asks, each of which takes a connection. Further ones are not sent. */
const MAX_ANSWERS = 16;

type Send = (input: string | URL, init?: RequestInit) => Promise<Response>;

function limitAnswers(send: Send): Send {
  let inFlight = 0;
  return async (input, init) => {
    const isAnswer = typeof init?.body === "string" && !Object.hasOwn(parseObject(init.body), "method");
    if (!isAnswer) return send(input, init);
    if (inFlight >= MAX_ANSWERS) throw new Error("the server asks too much at once");
    inFlight += 1;
    try {
      return await send(input, init);
    } finally {
      inFlight -= 1;
    }
  };
}

function readAnswers(connection: Connection): Send {
  const send = limitFetch({ maxBytes: MAX_BODY_BYTES }, (input, init) =>
    connection.fetch(input instanceof Request ? input.url : input, init),
  );
  return async (input, init) => readAnswer(await send(input, init));
}

/** More is no answer, but an attempt to fill the memory. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;
