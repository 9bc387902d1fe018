/**
 * Hookline in front of a real OpenClaw: `node test/peers/openclaw.ts [version]`. Its model is a test server, so
 * that no key is needed. The first run installs it from npm.
 */
import { startModels } from "../support/models.ts";
import { startService } from "../support/service.ts";
import { OPENCLAW_VERSION, type OpenClaw, startOpenClaw } from "./openclaw-gateway.ts";
import { createAsker, installOnce, printResults, type Results } from "./support.ts";

const version = process.argv[2] ?? OPENCLAW_VERSION;

const modelServer = await startModels();
const openClaw = await startOpenClaw(await installOnce("openclaw", version), modelServer);
const service = await startHookline(openClaw);
const ask = createAsker(service, modelServer);
try {
  printResults(`Hookline before OpenClaw ${version}`, await runPeer());
} finally {
  await service.close();
  await openClaw.close();
  await modelServer.close();
}

function startHookline({ baseUrl, token }: OpenClaw): ReturnType<typeof startService> {
  const claw = { kind: "gateway" as const, baseUrl, apiKey: token };
  return startService({
    config: { agents: { providers: { claw }, defaults: { model: "claw/openclaw" } } },
  });
}

async function runPeer(): Promise<Results> {
  const first = await ask("Keep the word heron.", { sessionKey: "case-7" });
  const second = await ask("Which word was it?", { sessionKey: "case-7" });
  const other = await ask("Do you know a word?", { sessionKey: "Case-7" });
  const keys = await openClaw.sessionKeys();
  return [
    ["a hook's reply is what the model said", first.text === first.said],
    ["so is that of a second one with the same session key", second.text === second.said],
    ["then the model is given the first turn too", second.given.includes("heron")],
    ["another key is answered too, and is another session", other.text === other.said],
    ["also where only the case differs", other.given.includes("know a word") && !other.given.includes("heron")],
    ["OpenClaw has the session that the header names", keys.includes("agent:main:hookline:case-7")],
    ["and the one whose capital letter goes as %43", keys.includes("agent:main:hookline:%43ase-7")],
  ];
}
