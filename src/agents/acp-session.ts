import type {
  AgentCapabilities,
  ClientContext,
  ContentBlock,
  McpServer,
  NewSessionRequest,
  NewSessionResponse,
  SessionUpdate,
  StopReason,
} from "@agentclientprotocol/sdk";
import { setImmediate as afterInput } from "node:timers/promises";
import { codeOf, DriverError, messageOf } from "../core/errors.ts";
import { type AgentReply, type AgentTurn, NO_PICTURES, type TurnFile } from "../core/ports/agent.ts";
import { createTranscript } from "./acp-transcript.ts";
import type { TurnProgram } from "./workspace/program.ts";

/** A conversation with an agent, for one turn. */
interface AcpSession {
  /** Sends the turn's message, in a new session after the history, and resolves to the agent's answer. */
  ask(turn: AgentTurn & { model: string }): Promise<AcpAnswer>;
  cancel(): void;
}

export interface AcpAnswer extends Pick<AgentReply, "text" | "notes" | "usage" | "cost"> {
  stopReason: StopReason;
  warnings: string[];
}

type UpdateListener = (sessionId: string, update: SessionUpdate) => void;

export interface AcpAgent {
  context: ClientContext;
  capabilities: AgentCapabilities;
  /** Titles of refused requests for a permission. */
  refused: string[];
  listeners: Set<UpdateListener>;
}

/** Continues the agent's session of the program, if there is one and the agent can. Otherwise it begins a new one. */
export async function openAcpSession(
  agent: AcpAgent,
  program: TurnProgram,
  { history }: Pick<AgentTurn, "history">,
): Promise<AcpSession> {
  const { context, refused, listeners, capabilities } = agent;
  const { callsUrl, knownCalls } = program;
  const before = history.length > 0 || knownCalls !== undefined ? program.state : {};
  const canCall = callsUrl !== undefined && capabilities.mcpCapabilities?.http === true;
  const mcpServers: McpServer[] = canCall ? [{ type: "http", name: "hookline", url: callsUrl, headers: [] }] : [];
  const begun: NewSessionRequest = { cwd: program.cwd, mcpServers };
  const continued = before.sessionId === undefined ? undefined : await continueSession(agent, begun, before.sessionId);
  const session = continued ?? (await context.request<"session/new">("session/new", begun));
  const { sessionId } = session;
  let totalCost = continued ? (before.cost ?? 0) : 0;
  if (program.mode !== undefined) await chooseMode(context, session, program.mode);
  return {
    async ask({ message, model, calls, files = [] }) {
      const [option] = listOptions(session, "model");
      // A session that is continued has the model of its last turn.
      const ownModel = (continued && before.model) ?? option?.current;
      const wanted = model === "default" ? ownModel : model;
      const warnings =
        wanted === undefined || wanted === option?.current ? [] : await chooseModel(context, session, wanted);
      // Updates from before, such as the replay of a loaded session, are no reply.
      await afterInput();
      const transcript = createTranscript();
      const broken = Promise.withResolvers<never>();
      const listen: UpdateListener = (id, update) => {
        try {
          if (id === sessionId) transcript.take(update);
        } catch (error) {
          broken.reject(error);
        }
      };
      listeners.add(listen);
      const isOutcome = continued !== undefined && knownCalls !== undefined;
      const said = (isOutcome ? calls?.continueFrom(knownCalls) : undefined) ?? message;
      const takesImages = capabilities.promptCapabilities?.image === true;
      const images = files.filter(({ isImage }) => isImage && !isOutcome);
      const isBlind = images.length > 0 && !takesImages && !program.isBoxed;
      const text = isBlind ? said + NO_PICTURES : said;
      const prompt = [...toPrompt(text, continued ? [] : history), ...(takesImages ? images.map(toImage) : [])];
      const { stopReason } = await Promise.race([
        context.request<"session/prompt">("session/prompt", { sessionId, prompt }),
        broken.promise,
      ]);
      // Updates before the answer are handled, each by its own task.
      await afterInput();
      listeners.delete(listen);
      const { tokens, total, ...answer } = transcript.finish();
      if (!calls?.isWaiting()) requireWords(answer.text, refused);
      const cost = total === undefined ? undefined : addCost(total);
      program.state = { ...program.state, sessionId, cost: totalCost, model: ownModel };
      return {
        ...answer,
        stopReason,
        warnings: [
          ...warnings,
          ...(isBlind ? [NO_IMAGES] : []),
          ...(callsUrl !== undefined && !canCall ? [NO_CALLS] : []),
          ...warnOfRefusals(refused),
        ],
        ...(tokens !== undefined && { usage: { inputTokens: tokens } }),
        ...(cost !== undefined && { cost }),
      };
    },
    cancel() {
      // A program that has ended needs no cancellation.
      context.notify("session/cancel", { sessionId }).catch(() => {});
    },
  };

  /** The agent tells the cost of the whole session; one that begins anew counts from 0 again. */
  function addCost(total: number): number {
    const cost = total >= totalCost ? total - totalCost : total;
    totalCost = total;
    return cost;
  }
}

function toImage({ bytes, type }: TurnFile): ContentBlock {
  return { type: "image", data: Buffer.from(bytes).toString("base64"), mimeType: type };
}

const NO_IMAGES = "The agent takes no pictures: it was asked without them.";
const NO_CALLS = "The agent takes no calls over HTTP: it was asked without them.";

type Continued = Pick<NewSessionResponse, "modes" | "configOptions">;

/** Undefined: the agent cannot, or no longer has it. */
async function continueSession(
  { context, capabilities }: AcpAgent,
  begun: NewSessionRequest,
  sessionId: string,
): Promise<NewSessionResponse | undefined> {
  const request = { ...begun, sessionId };
  const ways: (() => Promise<Continued>)[] = [
    ...(capabilities.sessionCapabilities?.resume ? [() => context.request<Continued>("session/resume", request)] : []),
    ...(capabilities.loadSession ? [() => context.request<Continued>("session/load", request)] : []),
  ];
  for (const way of ways) {
    try {
      const { modes, configOptions } = await way();
      return { sessionId, modes, configOptions };
    } catch (error) {
      // Without a code the connection broke.
      if (codeOf(error) === undefined) throw error;
    }
  }
  return undefined;
}

/** A mode in which the agent asks for no permission. Some agents have modes of their own, others an option. */
async function chooseMode(agent: ClientContext, session: NewSessionResponse, mode: string): Promise<void> {
  const { sessionId, modes } = session;
  const [option] = listOptions(session, "mode");
  const offered = [...(modes?.availableModes ?? []).map(({ id }) => id), ...(option?.values ?? [])];
  if (modes?.currentModeId === mode) return;
  try {
    if (modes || !option) await agent.request("session/set_mode", { sessionId, modeId: mode });
    else await agent.request("session/set_config_option", { sessionId, configId: option.id, value: mode });
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    const list = [...new Set(offered)].join(", ") || "none";
    throw new DriverError(`The agent refused its mode ${mode} (${messageOf(error)}). It offers: ${list}.`, {
      retryable: false,
    });
  }
}

interface SelectOption {
  id: string;
  current: string;
  values: string[];
}

function listOptions({ configOptions }: NewSessionResponse, category: string): SelectOption[] {
  return (configOptions ?? []).flatMap((option) => {
    if (option.category !== category || option.type !== "select") return [];
    const choices = option.options.flatMap((entry) => ("group" in entry ? entry.options : [entry]));
    return [{ id: option.id, current: option.currentValue, values: choices.map(({ value }) => value) }];
  });
}

/** The history is sent as JSON, so that no text in it can pass for another turn. */
function toPrompt(message: string, history: AgentTurn["history"]): ContentBlock[] {
  const prompt: ContentBlock = { type: "text", text: message };
  if (history.length === 0) return [prompt];
  const earlier = `Earlier turns of this session, oldest first:\n${JSON.stringify(history)}\n\n`;
  return [{ type: "text", text: earlier }, prompt];
}

/** Returns a warning when the agent does not offer the model. */
async function chooseModel(agent: ClientContext, session: NewSessionResponse, model: string): Promise<string[]> {
  const option = listOptions(session, "model").find(({ values }) => values.includes(model));
  if (!option) return [`The agent does not offer the model "${model}" and answered with its own choice.`];
  const { sessionId } = session;
  await agent.request("session/set_config_option", { sessionId, configId: option.id, value: model });
  return [];
}

/** The work needed the permission, so another attempt would end in the same way. */
function requireWords(text: string, refused: string[]): void {
  if (text.trim() !== "" || refused.length === 0) return;
  throw new DriverError(`The agent replied nothing after a permission was refused: ${listRefused(refused)}.`, {
    retryable: false,
  });
}

function warnOfRefusals(refused: string[]): string[] {
  if (refused.length === 0) return [];
  const times = refused.length === 1 ? "once" : `${refused.length} times`;
  return [`The agent asked for a permission ${times}, which was refused: ${listRefused(refused)}.`];
}

const MAX_SHOWN = 5;

function listRefused(refused: string[]): string {
  const shown = [...new Set(refused)].slice(0, MAX_SHOWN);
  return shown.join("; ");
}
