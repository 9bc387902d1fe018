/**
 * Hookline with a real agent of the Agent Client Protocol, opencode: `node test/peers/opencode.ts [version]`. Its models are on
 * a test server, so that no key is needed. The first run installs it from npm.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { startModels } from "../support/models.ts";
import { startService } from "../support/service.ts";
import { createAsker, installOnce, printResults, type Results } from "./support.ts";

const version = process.argv[2] ?? "1.18.33";

const models = await startModels();
const folder = mkdtempSync(path.join(tmpdir(), "hookline-opencode-"));
writeFileSync(path.join(folder, "opencode.json"), JSON.stringify(toConfig(models.baseUrl)));
const service = await startHookline(await installOnce("opencode-ai", version));
const ask = createAsker(service, models);
try {
  printResults(`Hookline with opencode ${version}`, await runPeer());
} finally {
  await service.close();
  await models.close();
  rmSync(folder, { recursive: true, force: true });
}

function startHookline(home: string): ReturnType<typeof startService> {
  const coder = {
    kind: "acp" as const,
    sandbox: false,
    command: [path.join(home, "bin/opencode.exe"), "acp"] as [string, ...string[]],
    cwd: folder,
    env: { HOME: folder },
  };
  return startService({
    config: { agents: { providers: { coder }, defaults: { model: "coder/default" } } },
  });
}

function toConfig(baseURL: string): object {
  const options = { baseURL, apiKey: "none" };
  const offered = { tiny: { name: "tiny" }, small: { name: "small" } };
  return {
    provider: { trial: { npm: "@ai-sdk/openai-compatible", name: "Trial", options, models: offered } },
    model: "trial/tiny",
    small_model: "trial/tiny",
    autoupdate: false,
    share: "disabled",
  };
}

async function runPeer(): Promise<Results> {
  const first = await ask("Keep the word heron.", { sessionKey: "a" });
  const second = await ask("Which word was it?", { sessionKey: "a" });
  const other = await ask("Do you know a word?", { sessionKey: "b" });
  const chosen = await ask("Hello.", { sessionKey: "c", model: "coder/trial/small" });
  const unknown = await ask("Hello.", { sessionKey: "d", model: "coder/trial/huge" });
  return [
    ["a hook's reply is what the model said", first.text === first.said],
    ["so is that of a second one with the same session key", second.text === second.said],
    ["then the model is given the first turn too", second.given.includes("heron")],
    ["another key is answered too, and is another session", other.text === other.said],
    ["which knows nothing of the first", other.given.includes("know a word") && !other.given.includes("heron")],
    ["a model that it offers is chosen", chosen.text === chosen.said && chosen.warnings.length === 0],
    ["of one that it does not offer there is a warning", unknown.warnings.length === 1],
  ];
}
