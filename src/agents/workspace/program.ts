import type { FromSchema } from "json-schema-to-ts";
import { rmSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { codeOf, DriverError } from "../../core/errors.ts";
import type { AgentReply, AgentTurn, TurnWorkspace } from "../../core/ports/agent.ts";
import type { CheckContext, DriverContext, OptionProblem } from "../../core/ports/driver.ts";
import { COMMAND, NON_BLANK, objectSchema, TEXTS } from "../../core/shared/json.ts";
import {
  findMissingProgram,
  pickEnvironment,
  type ProcessOptions,
  resolveCommand,
  runProgram,
} from "../../core/shared/system/child-process.ts";
import { createFolder } from "../../core/shared/system/files.ts";
import { createTemporaryFolder } from "../../core/shared/system/temporary-folder.ts";
import { toStartError } from "../errors.ts";
import { BOX, findBox, locateProgram, RELAY_URL, toBoxCommand } from "./box.ts";
import { findChange } from "./change.ts";
import { type Home, type HomeState, openHome, watchRoom } from "./home.ts";
import { findAgent, toSettings } from "./known-agents.ts";
import { CALLS_PATH, type Relay, type RelayModel, startRelay } from "./relay.ts";
import { checkSandbox, type Openings, sandboxSchema, toOpenings } from "./sandbox.ts";
import { OBJECTS_IN_BOX, type OpenedTree, openTree } from "./tree.ts";

/** The options of a provider that runs a program: of `command` and of `acp`. */
export const programSchema = objectSchema(["command"], {
  command: {
    ...COMMAND,
    description:
      "The program and its arguments, run without a shell, once for each turn. command: the prompt is on its standard input, the reply on its standard output.",
  },
  cwd: {
    ...NON_BLANK,
    description:
      "The folder that the program runs in. Without a sandbox the default is the configuration file's. In one it is /work, which is empty by default, and this folder, read-only, if it is set.",
  },
  env: {
    ...TEXTS,
    description:
      "Variables of the program, which can read them, besides PATH, HOME, LANG and those of the turn: HOOKLINE_SESSION_KEY, HOOKLINE_RUN_ID, HOOKLINE_KIND (hook or heartbeat), HOOKLINE_MODEL, HOOKLINE_THINKING, HOOKLINE_TIMEOUT_SECONDS, HOOKLINE_MAX_OUTPUT_TOKENS, HOOKLINE_MAX_REPLY_BYTES, HOOKLINE_ACK, HOOKLINE_HISTORY (a file with the earlier turns: [{ role, text }]), and in a sandbox HOOKLINE_MODEL_URL and HOOKLINE_MCP_URL.",
  },
  sandbox: sandboxSchema,
});

export type ProgramOptions = FromSchema<typeof programSchema>;

/** A sandbox that is missing or cannot be made is an error, a missing program a warning. */
export function checkProgram(options: ProgramOptions, context: CheckContext): OptionProblem[] {
  return [
    ...checkSandbox(options, context),
    ...findMissingProgram(options.command, toProcess(options, context.baseDir)),
  ];
}

/** The longest reply of a program. */
export const MAX_REPLY_BYTES = 1024 * 1024;

export type ProgramContext = Pick<DriverContext, "name" | "baseDir" | "tempDir" | "stateDir"> &
  Partial<Pick<DriverContext, "idleAfterMs" | "modelApi" | "workspaces">>;

/** The program of one turn, which is not started yet. */
export interface TurnProgram {
  process: ProcessOptions & { cwd: string };
  isBoxed: boolean;
  /** Its folder, as it sees it. */
  cwd: string;
  /** The mode in which a known agent asks for no permission; only in a sandbox. */
  mode?: string;
  /** Where it makes its calls; only in a sandbox. */
  callsUrl?: string;
  /** The agent's session waited for a person in this run, and knows this number of its calls. */
  knownCalls?: number;
  /** The words of the service before the message. */
  words: string;
  /** The driver sets it, for the next turn of the session. */
  state: HomeState;
}

type Work = (program: TurnProgram, signal: AbortSignal) => Promise<AgentReply>;

/** Over the protocol an agent gets the list of its calls; others find them in their variables and settings. */
type ProgramKind = "acp" | "command";

/** `model`: without the provider's name. */
type ProgramTurn = AgentTurn & { model: string };

/**
 * Returns what prepares the program of a turn, does the turn's work with it, and cleans up: the files of the turn, the sandbox and
 * its relay, and the home of the session. The caller ends the program. Errors of the system are those of Node.
 */
export function preparePrograms(
  options: ProgramOptions,
  {
    name,
    baseDir,
    tempDir,
    stateDir,
    idleAfterMs = Infinity,
    modelApi,
    workspaces,
    kind,
  }: ProgramContext & { kind: ProgramKind },
): (turn: ProgramTurn, signal: AbortSignal, work: Work) => Promise<AgentReply> {
  const openings = toOpenings(options.sandbox, baseDir);
  return async (turn, signal, work) => {
    createFolder(tempDir, 0o700);
    const folders = makeTurnFolders(tempDir);
    const { runId, sessionKey, history, calls } = turn;
    const home = await openHome(stateDir, sessionKey, {
      runId,
      isNew: history.length === 0,
      keepsWork: turn.workspace !== undefined,
      idleMs: idleAfterMs,
    });
    const { waiting, ...before } = home.state;
    const remembered = before.sources ?? [];
    calls?.addSources(remembered);
    const ended = new AbortController();
    const cleanUp: (() => void)[] = [];
    try {
      await writeFile(path.join(folders.files, "history.json"), JSON.stringify(turn.history), { mode: 0o600 });
      for (const { name: file, bytes } of (openings && turn.files) ?? [])
        await writeFile(path.join(folders.files, file), bytes, { mode: 0o600 });
      if (openings) cleanUp.push(watchRoom(home.folder, (error) => ended.abort(error)));
      const limited = AbortSignal.any([signal, ended.signal]);
      const opened = turn.workspace && (await openWorkspace(turn.workspace, { turn, home, signal: limited }));
      if (opened === OLDER) return { text: "", skipped: "about an older commit" };
      home.begin();
      const boxed = { folders, home, cleanUp, tree: opened };
      const setUp = openings && opened?.isNew && (await runSetup(turn, openings, { ...boxed, signal: limited }));
      const { program, relay } = openings
        ? await prepareBoxed(turn, openings, boxed)
        : { program: prepareOpen(turn, folders), relay: undefined };
      program.words = toWords([...(opened?.words ?? []), ...(setUp ? [setUp] : [])]);
      program.state = before;
      program.knownCalls = waiting?.calls;
      const answer = await work(program, limited).catch((error: unknown) => {
        if (ended.signal.aborted) throw ended.signal.reason;
        // The program was ended, since a person must decide first.
        if (signal.aborted && calls?.isWaiting()) return { text: "" };
        throw error;
      });
      const reply = opened ? await withChange(answer, opened, { turn, program, signal }) : answer;
      const sources = calls?.addSources([]) ?? [...new Set([...remembered, ...(turn.sources ?? [])])];
      home.keep({ ...program.state, runId, sources, ...(calls?.isWaiting() && { waiting: { calls: calls.made() } }) });
      const usage = relay?.takeUsage();
      return {
        ...reply,
        ...(sources.length > 0 && { sources }),
        ...(relay?.usage() && { usage, model: openings?.model }),
      };
    } catch (error) {
      // An error of the system: there is no such program, or no room for its files.
      throw error instanceof DriverError || typeof codeOf(error) !== "string" ? error : toStartError(name, error);
    } finally {
      cleanUp.forEach((clean) => clean());
      home.close();
      await rm(folders.turn, { recursive: true, force: true });
      turnFolders.delete(folders.turn);
    }
  };

  function prepareOpen(turn: ProgramTurn, { files }: TurnFolders): TurnProgram {
    const { env, ...started } = toProcess(options, baseDir);
    const variables = toTurnVariables(turn, path.join(files, "history.json"));
    const { cwd } = started;
    return { process: { ...started, env: { ...env, ...variables } }, isBoxed: false, cwd, words: "", state: {} };
  }

  /** The tree for a turn, whose commit is recorded before the agent is asked. */
  async function openWorkspace(
    workspace: TurnWorkspace,
    { turn, home, signal }: { turn: ProgramTurn; home: Home; signal: AbortSignal },
  ): Promise<OpenedTree | typeof OLDER> {
    const host = workspaces?.findHost(workspace.account);
    if (!openings || !workspaces || !host) {
      const reason = openings ? `there is no channels.${workspace.account}` : "it is in no sandbox";
      throw new DriverError(`${name} has no workspace: ${reason}.`, { retryable: false });
    }
    const { sessionKey } = turn;
    // A turn that goes on was about the head when it began.
    const about = home.state.waiting ? undefined : workspace.about;
    const tree = await openTree({
      home,
      workspace: { ...workspace, about },
      sessionKey,
      mirrors: workspaces.mirrors,
      host,
      signal,
    });
    if (!tree) return OLDER;
    await workspace.record(tree.state.commit);
    return tree;
  }

  /** The reply with what the agent has changed. The tree stays for the next turn. */
  async function withChange(
    reply: AgentReply,
    tree: OpenedTree,
    { turn, program, signal }: { turn: ProgramTurn; program: TurnProgram; signal: AbortSignal },
  ): Promise<AgentReply> {
    const { workspace, calls } = turn;
    if (!workspace) return reply;
    // The turn goes on once a person has decided.
    if (calls?.isWaiting()) {
      program.state = { ...program.state, tree: { ...tree.state, isChanged: true } };
      return reply;
    }
    const secrets = new Map([
      ...(workspaces?.secrets ?? []),
      ...Object.entries(options.env ?? {}).map(([key, value]): [string, string] => [`env.${key}`, value]),
    ]);
    const { change, warnings, isChanged } = await findChange(tree, { workspace, reply: reply.text, secrets, signal });
    program.state = { ...program.state, tree: { ...tree.state, isChanged, offered: change?.arguments.commit } };
    const notOffered = isChanged && !change ? warnings.map((warning) => `[${warning}]`) : [];
    return {
      ...reply,
      text: [reply.text, ...notOffered].join("\n\n"),
      ...(change && { change }),
      warnings: [...(reply.warnings ?? []), ...warnings],
    };
  }

  /** Runs the program that makes a new tree ready, without a model. Gives a line for the agent if it fails. */
  async function runSetup(
    turn: ProgramTurn,
    ways: Openings,
    { signal, ...boxed }: BoxedTurn & { signal: AbortSignal },
  ): Promise<string | undefined> {
    const command = turn.workspace?.setup;
    if (!command) return undefined;
    const bounded = { ...turn, calls: undefined };
    const { program, relay } = await prepareBoxed(bounded, { ...ways, model: undefined }, boxed, command);
    try {
      const ran = { ...program.process, input: "", maxOutputBytes: MAX_SETUP_BYTES };
      const { code, errorOutput } = await runProgram(ran, signal);
      signal.throwIfAborted();
      return code === 0 ? undefined : toSetupFailure(command, `ended with code ${code}: ${errorOutput.slice(-500)}`);
    } catch (error) {
      signal.throwIfAborted();
      return toSetupFailure(command, `could not be started (${String(codeOf(error) ?? "error")})`);
    } finally {
      relay?.close();
    }
  }

  async function prepareBoxed(
    turn: ProgramTurn,
    { model, hosts, read }: Openings,
    { folders, home, cleanUp, tree }: BoxedTurn,
    written: readonly string[] = options.command,
  ): Promise<{ program: TurnProgram; relay?: Relay }> {
    const box = findBox();
    if ("problem" in box) throw new DriverError(`${name} cannot run: ${box.problem}`, { retryable: false });
    const { cwd, env: given } = toProcess(options, baseDir);
    const isSetup = written !== options.command;
    const located = locateProgram(isSetup ? written : resolveCommand(written, cwd), {
      cwd,
      search: given["PATH"],
      own: [stateDir, baseDir],
    });
    const agent = findAgent(options.command);
    const asked = model === undefined ? undefined : toRelayModel(model, turn);
    const { calls } = turn;
    const relay =
      asked || hosts || calls
        ? await startRelay(folders.turn, { model: asked, calls, hosts: hosts && { names: hosts } })
        : undefined;
    if (relay) cleanUp.push(relay.close);
    const callsUrl = calls && RELAY_URL + CALLS_PATH;
    const settings = toSettings(agent, {
      model: asked && { id: asked.id, formats: asked.api.formats },
      callsUrl: kind === "command" ? callsUrl : undefined,
    });
    const isWorkReadOnly = options.cwd !== undefined && !tree;
    const objects = tree && path.join(tree.mirror.folder, "objects");
    const command = toBoxCommand(
      {
        folders: {
          work: isWorkReadOnly ? cwd : path.join(home.folder, "work"),
          home: path.join(home.folder, "home"),
          tmp: path.join(home.folder, "tmp"),
          files: folders.files,
          own: folders.own,
        },
        isWorkReadOnly,
        readable: new Map([
          ...read.map((file): [string, string] => [file, file]),
          ...located.readable,
          ...(objects === undefined ? [] : [[OBJECTS_IN_BOX, objects] as const]),
        ]),
        command: located.command,
        relay: relay?.socket,
        homeFiles: settings.files,
      },
      box.bwrap,
    );
    const env = {
      PATH: located.path,
      HOME: BOX.home,
      LANG: process.env["LANG"] ?? "C.UTF-8",
      ...(hosts && PROXY),
      ...settings.variables,
      ...options.env,
      ...toTurnVariables(turn, path.join(BOX.files, "history.json")),
    };
    const { mode } = agent;
    const started = { command, cwd: "/", env };
    const program = { process: started, isBoxed: true, cwd: BOX.work, mode, callsUrl, words: "", state: {} };
    return { program, relay };
  }

  function toRelayModel(model: string, { isSpent }: AgentTurn): RelayModel {
    const [provider = "", ...id] = model.split("/");
    const api = modelApi?.(provider);
    if (!api) {
      const message = `${name} cannot run: ${provider} has no API that it could ask (agents.providers.${name}.sandbox.model).`;
      throw new DriverError(message, { retryable: false });
    }
    return { api, name: model, id: id.join("/"), isSpent: (usage) => isSpent?.(model, usage) ?? false };
  }
}

/** The event is about another commit than the head of the branch. */
const OLDER = Symbol("older");

interface BoxedTurn {
  folders: TurnFolders;
  home: Home;
  cleanUp: (() => void)[];
  tree?: OpenedTree;
}

const MAX_SETUP_BYTES = 10 * 1024 * 1024;

function toSetupFailure(command: readonly string[], reason: string): string {
  return `The setup of the repository (${command.join(" ")}) ${reason.replaceAll(/\s+/g, " ").trim()}`;
}

function toWords(words: readonly string[]): string {
  return words.map((line) => `${line}\n\n`).join("");
}

/** The turn with a line about its files, which are in the box. */
export function withFileNames<Turn extends AgentTurn>(turn: Turn, { sandbox }: Pick<ProgramOptions, "sandbox">): Turn {
  if (!turn.files || sandbox === false) return turn;
  const names = turn.files.map(({ name }) => path.join(BOX.files, name)).join(", ");
  return { ...turn, message: `${turn.message}\n\nThe files are here: ${names}` };
}

const PROXY = {
  ...Object.fromEntries(
    ["HTTP_PROXY", "HTTPS_PROXY"].flatMap((name) => [name, name.toLowerCase()].map((key) => [key, RELAY_URL])),
  ),
  NO_PROXY: "127.0.0.1,localhost",
  no_proxy: "127.0.0.1,localhost",
  NODE_USE_ENV_PROXY: "1",
};

/** The program of a provider without a sandbox. It has the variables that it needs to find others and its settings. */
function toProcess({ command, cwd = "", env }: ProgramOptions, baseDir: string): ProcessOptions & { cwd: string } {
  return {
    command,
    cwd: path.resolve(baseDir, cwd),
    env: { ...pickEnvironment(["PATH", "HOME", "LANG"]), ...env },
  };
}

function toTurnVariables(turn: ProgramTurn, historyFile: string): NodeJS.ProcessEnv {
  return {
    HOOKLINE_RUN_ID: turn.runId,
    HOOKLINE_SESSION_KEY: turn.sessionKey,
    HOOKLINE_KIND: turn.kind,
    HOOKLINE_MODEL: turn.model,
    HOOKLINE_THINKING: turn.thinking,
    HOOKLINE_TIMEOUT_SECONDS: String(turn.timeoutSeconds),
    HOOKLINE_MAX_OUTPUT_TOKENS: turn.maxOutputTokens?.toString(),
    HOOKLINE_MAX_REPLY_BYTES: String(MAX_REPLY_BYTES),
    HOOKLINE_ACK: turn.ack,
    HOOKLINE_HISTORY: historyFile,
  };
}

interface TurnFolders {
  turn: string;
  /** `/files` of a box. */
  files: string;
  /** Files of /etc of a box. */
  own: string;
}

/** The folders in use. A service that is killed by a second signal does not wait for its turns. */
const turnFolders = new Set<string>();
process.on("exit", () => turnFolders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** Readable by this user only. */
function makeTurnFolders(tempDir: string): TurnFolders {
  const turn = createTemporaryFolder(tempDir);
  turnFolders.add(turn);
  const folders = { turn, files: path.join(turn, "files"), own: path.join(turn, "own") };
  for (const folder of [folders.files, folders.own]) createFolder(folder, 0o700);
  return folders;
}
