/**
 * Hookline with the real coding agents that it knows, each in its sandbox, over ACP and without it: `npm run agents [name]`. Their
 * model is on a test server, so that no key is needed. The first run installs them from npm. Linux with bubblewrap only.
 */
import path from "node:path";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { startModels, type ModelServer } from "../support/models.ts";
import { startService } from "../support/service.ts";
import { createAsker, installOnce, printResults, type Results } from "./support.ts";

type Provider = NonNullable<NonNullable<UserConfig["agents"]>["providers"]>[string];
type Command = [string, ...string[]];

interface RealAgent {
  package: string;
  version: string;
  /** Below the folder of the package. */
  program: string;
  /** Arguments over ACP. Absent: it has no such form. */
  acp?: string[];
  /** Without it: its arguments, and another program of the package. Absent: it has no such form. */
  headless?: { program?: string; arguments: string[] };
  /** The kind of the provider that speaks its format. */
  kind: "openai-compatible" | "anthropic" | "openai";
}

const AGENTS: Record<string, RealAgent> = {
  opencode: {
    package: "opencode-ai",
    version: "1.18.33",
    program: "bin/opencode.exe",
    acp: ["acp"],
    headless: { arguments: ["run"] },
    kind: "openai-compatible",
  },
  claude: {
    package: "@agentclientprotocol/claude-agent-acp",
    version: "0.101.0",
    program: "../../.bin/claude-agent-acp",
    acp: [],
    headless: {
      program: `../../@anthropic-ai/claude-agent-sdk-linux-${process.arch}/claude`,
      arguments: ["-p", "--dangerously-skip-permissions"],
    },
    kind: "anthropic",
  },
  codex: {
    package: "@agentclientprotocol/codex-acp",
    version: "2.6.0",
    program: "../../.bin/codex-acp",
    acp: [],
    headless: {
      program: "../../.bin/codex",
      arguments: ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-"],
    },
    kind: "openai",
  },
  qwen: {
    package: "@qwen-code/qwen-code",
    version: "0.24.4",
    program: "../../.bin/qwen",
    acp: ["--acp"],
    headless: { arguments: ["--yolo", "-p", "Answer what is on standard input."] },
    kind: "openai-compatible",
  },
};

const wanted = process.argv.slice(2);
for (const [name, agent] of Object.entries(AGENTS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const { acp, headless, kind, version } = agent;
  const folder = await installOnce(agent.package, version);
  const toProgram = (file = agent.program): string => path.join(folder, file);
  if (acp) await tryAgent(`${name} ${version} over ACP`, "acp", [toProgram(), ...acp], kind);
  if (headless) {
    const command: Command = [toProgram(headless.program), ...headless.arguments];
    await tryAgent(`${name} ${version} without ACP`, "command", command, kind);
  }
}

async function tryAgent(
  title: string,
  kind: "acp" | "command",
  command: Command,
  of: RealAgent["kind"],
): Promise<void> {
  const models = await startModels();
  const coder: Provider = { kind, command, sandbox: { model: "api/tiny" } };
  const api: Provider = { kind: of, baseUrl: models.baseUrl, apiKey: "secret-of-the-service" };
  const service = await startService({
    config: { agents: { providers: { api, coder }, defaults: { model: "coder/default", timeoutSeconds: 120 } } },
  });
  try {
    printResults(title, await runAgent(createAsker(service, models), models, kind));
  } catch (error) {
    printResults(title, [[error instanceof Error ? error.message : String(error), false]]);
  } finally {
    await service.close();
    await models.close();
  }
}

async function runAgent(ask: ReturnType<typeof createAsker>, models: ModelServer, kind: string): Promise<Results> {
  const first = await ask("Keep the word heron.", { sessionKey: "a" });
  const second = await ask("Which word was it?", { sessionKey: "a" });
  const other = await ask("Do you know a word?", { sessionKey: "b" });
  return [
    ["the reply is what the model said", first.text.includes(first.said)],
    ["so is that of a second turn with the same session key", second.text.includes(second.said)],
    ["the model is given the first turn too", kind === "command" || second.asked.includes("heron")],
    ["another key knows nothing of it", other.text.includes(other.said) && !other.asked.includes("heron")],
    [
      `the model is the one of the configuration (${[...new Set(models.models())].join(", ")})`,
      models.models().every((model) => model === "tiny"),
    ],
    ["no warning", [first, second, other].every(({ warnings }) => warnings.length === 0)],
  ];
}
