import type { Command } from "commander";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { PRESETS_FOLDER } from "../../core/config/presets/file.ts";
import { PACKAGE_ROOT } from "../../core/shared/system/package.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import type { EventTimeline } from "../../operator/views.ts";
import { toCommand } from "../../core/shared/text/command.ts";
import { type CliIo, print, printJson, style, wrapWords } from "../io.ts";
import { createOperatorClient, type OperatorClient } from "../operator-client.ts";
import { type DemoProject, leaveProject, writeProject } from "./project.ts";
import { type ServiceProcess, spawnProgram, untilListening } from "./service-process.ts";

/** Takes what a program that reads JSON does not want. */
const NOWHERE = new Writable({ write: (_chunk, _encoding, done) => done() });

/** The program that is running: its source in a checkout, else as the package has it. */
const PROGRAM = path.join(
  PACKAGE_ROOT,
  import.meta.filename.endsWith(".ts") ? "src/cli/webhooks.ts" : "dist/cli/webhooks.js",
);

/** How many turns of a slow agent are started at once before the service is killed. */
const BURST = 12;

export function addDemo(program: Command, io: CliIo): void {
  program
    .command("demo")
    .description(
      "Show on this machine, without a key or a network, what a service does: events of GitHub and mails, an edited transform, " +
        "a crash with work in it. It leaves a folder to continue in.",
    )
    .option("--json", "print one JSON object at the end: ok, folder, config, received", false)
    .action(({ json }: { json: boolean }) => runDemo(json, io));
}

async function runDemo(json: boolean, terminal: CliIo): Promise<void> {
  const io: CliIo = json ? { ...terminal, stdout: NOWHERE } : terminal;
  const team = await openTeam();
  const project = writeProject(mkdtempSync(path.join(tmpdir(), "hookline-demo-")), team.url);
  const demo = createDemo(project, io);
  let service: DemoService | undefined;
  io.stopSignal().addEventListener("abort", () => void service?.process.end("SIGTERM"));
  try {
    service = await startService(project, io);
    demo.say(`Hookline listens on ${service.process.url}. Its configuration and state are in ${project.folder}.`);
    demo.say("The agent is the built-in echo, and the team's chat is an endpoint of this process.");
    await demo.show(
      service,
      "Template: an issue was opened on GitHub",
      "github/issues",
      readSample("github/issue-opened"),
    );
    await demo.show(service, "Preset: two mails, one agent turn each", "mail", readSample("mail/snippets"));
    await demo.editTransform(service);
    service = await demo.killAndRestart(service);
    const { length } = team.received;
    if (length < BURST) throw new Error(`The team received ${length} messages.`);
  } finally {
    await service?.process.end("SIGTERM");
    team.close();
  }
  leaveProject(project);
  const { folder, config } = project;
  if (json) return printJson(terminal, { ok: true, folder, config, received: team.received.length });
  demo.title("Continue with what the demo leaves");
  for (const name of ["serve", "events list", "runs list", "inbox"]) {
    print(io, `  ${toCommand(`${name} --config`, project.config)}${name === "serve" ? " &" : ""}`);
  }
  print(io, `  $EDITOR ${project.transform}`, `  rm -r ${project.folder}`);
  print(io, "", "Your own hook: npx hookline init && npx hookline dev");
}

function createDemo(project: DemoProject, io: CliIo) {
  const say = (line: string, indent = ""): void => print(io, ...wrapWords(io, line, indent));
  const title = (text: string): void => print(io, "", style("bold", text));
  const field = (name: string, text: string): void => {
    for (const [index, line] of toPrintable(text).trimEnd().split("\n").entries()) {
      say(`  ${style("dim", (index === 0 ? name : "").padEnd(9))} ${line}`, " ".repeat(12));
    }
  };
  return {
    say,
    title,

    /** Posts the payload, waits until it is done, and prints what it led to. */
    async show(service: DemoService, heading: string, hook: string, payload: unknown): Promise<void> {
      title(heading);
      const { status, eventId } = await service.post(hook, payload);
      field("request", `POST /hooks/${hook} (${JSON.stringify(payload).length} bytes): ${status}`);
      const event = await settle(service, eventId);
      for (const run of event.runs) {
        field("action", `agent turn in session ${run.sessionKey}: ${run.action?.message}`);
        field("reply", run.reply ?? "");
        const { state, route } = event.deliveries.find(({ runId }) => runId === run.id) ?? {};
        field("delivery", `${state} to ${route?.channel} ${route?.to}`);
      }
    },

    async editTransform(service: DemoService): Promise<void> {
      title("Sandboxed TypeScript: transforms/deployment.ts");
      const before = readFileSync(project.transform, "utf8");
      print(io, before.trimEnd().replace(/^/gm, "  "));
      const failed = readSample("github/deployment-failed");
      await this.show(service, "A deployment failed on GitHub", "github/deployments", failed);
      const { config } = await service.api.call("GET /api/status");
      const savedAt = performance.now();
      const after = before.replace("message: `", "message: `Please look: ");
      writeFileSync(project.transform, after);
      await until(async () => (await service.api.call("GET /api/status")).config.generation > config.generation);
      title(`The file is edited: the new code is live after ${Math.round(performance.now() - savedAt)} ms`);
      const lines = after.split("\n");
      for (const [index, line] of before.split("\n").entries()) {
        if (line !== lines[index]) print(io, style("red", `- ${line}`), style("green", `+ ${lines[index]}`));
      }
      await this.show(service, "The same event again", "github/deployments", failed);
    },

    /** Kills the service while turns of a slow agent are running and waiting, and starts it again. */
    async killAndRestart(service: DemoService): Promise<DemoService> {
      title(`A crash: ${BURST} turns of half a second; the service is killed when one has ended`);
      const issue = readSample("github/issue-opened");
      const answers = await Promise.all(Array.from({ length: BURST }, () => service.post("slow", issue)));
      const done = { hook: "slow", status: "done" };
      await until(async () => (await service.api.call("GET /api/events", done)).events.length > 0);
      const { runs: running } = await service.api.call("GET /api/runs", { state: "running" });
      await service.process.end("SIGKILL");
      const accepted = answers.filter(({ status }) => status === 202).length;
      field("answers", `${accepted} × 202, then SIGKILL with ${running.length} turns running`);
      const restartedAt = performance.now();
      const again = await startService(project, io, Number(new URL(service.process.url).port));
      field("restart", `on the same folder, listening after ${Math.round(performance.now() - restartedAt)} ms`);
      const events: EventTimeline[] = [];
      for (const { eventId } of answers) events.push(await settle(again, eventId));
      const runs = events.flatMap((event) => event.runs).filter(({ state }) => state === "done");
      const sent = events.flatMap((event) => event.deliveries).filter(({ state }) => state === "sent");
      const repeated = runs.filter(({ attempts }) => attempts > 1).length;
      field("runs", `${repeated} were interrupted and ran again, ${runs.length - repeated} ran once`);
      field("result", `${runs.length} of ${BURST} turns done, ${sent.length} of ${BURST} replies sent`);
      if (runs.length < BURST || sent.length < BURST) throw new Error("Work was lost.");
      return again;
    },
  };
}

/** The service of the project, in a process, and its API. */
interface DemoService {
  process: ServiceProcess;
  api: OperatorClient;
  /** Posts JSON to a hook. */
  post(hook: string, payload: unknown): Promise<{ status: number; eventId: string }>;
}

async function startService({ config, env }: DemoProject, io: CliIo, port = 0): Promise<DemoService> {
  const service = await untilListening(spawnProgram(PROGRAM, ["serve", "--config", config, "--port", String(port)]));
  return {
    process: service,
    api: await createOperatorClient({ config, url: service.url }, { ...io, env: { ...io.env, ...env } }),
    async post(hook, payload) {
      const headers = { authorization: `Bearer ${env.HOOK_TOKEN}`, "content-type": "application/json" };
      const body = JSON.stringify(payload);
      const answer = await fetch(`${service.url}/hooks/${hook}`, { method: "POST", headers, body });
      const { eventId }: { eventId: string } = JSON.parse(await answer.text());
      return { status: answer.status, eventId };
    },
  };
}

const ENDED = new Set(["done", "skipped", "failed", "canceled"]);

/** The event, once nothing of it is open. */
async function settle({ api }: DemoService, id: string): Promise<EventTimeline> {
  const read = (): Promise<EventTimeline> => api.call("GET /api/events/:id", { id });
  let event = await read();
  await until(async () => {
    event = await read();
    return ENDED.has(event.status);
  });
  return event;
}

const POLL_MS = 50;
const MAX_WAIT_MS = 60_000;

async function until(isDone: () => Promise<boolean>): Promise<void> {
  const before = Date.now() + MAX_WAIT_MS;
  while (!(await isDone())) {
    if (Date.now() > before) throw new Error("The service did not finish in a minute.");
    await delay(POLL_MS);
  }
}

/** A payload of a preset's samples: `github/issue-opened`. */
function readSample(name: string): unknown {
  const [preset = "", sample = ""] = name.split("/");
  return JSON.parse(readFileSync(path.join(PRESETS_FOLDER, preset, "samples", `${sample}.json`), "utf8"));
}

/** An endpoint that receives the replies. */
async function openTeam() {
  const received: string[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    received.push(body);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return { url: `http://127.0.0.1:${port}/`, received, close: () => server.close() };
}
