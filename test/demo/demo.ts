/**
 * `npm run demo`: the main job on real input, for a person to read. The service runs as a separate process. The demo posts
 * GitHub's example payloads and two mails, prints what each led to, edits a transform, kills the service with work in it, and
 * leaves a folder to continue in. `--page` shows the operator's page instead.
 */
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createClient, waitFor } from "../support/client.ts";
import { githubPayload } from "../support/vendors/github.ts";
import { type ServiceProcess, startProcess } from "../support/process.ts";
import { startSlack } from "../support/vendors/slack.ts";
import { print, printChange, printField, printTitle } from "./print.ts";

const page = process.argv.indexOf("--page");
if (page !== -1) {
  const { showPage } = await import("./page.ts");
  await showPage(process.argv[page + 1]);
  process.exit(0);
}

const tokens = { hookToken: "demo-hook-token-0123456789", gatewayToken: "demo-gateway-token-0123456789" };
/** How many turns of a slow agent are started at once before the service is killed. */
const BURST = 12;
const folder = mkdtempSync(path.join(tmpdir(), "hookline-demo-"));
const transformFile = path.join(folder, "transforms/check-run.ts");
cpSync(path.join(import.meta.dirname, "setup"), folder, { recursive: true });

const slack = await startSlack();
let service = await start();
const hookline = createClient(service.url, tokens);
try {
  await runDemo();
} finally {
  await service.end("SIGTERM");
  await slack.close();
}
printNextSteps();

function start(port = 0): Promise<ServiceProcess> {
  const env = {
    HOOK_TOKEN: tokens.hookToken,
    GATEWAY_TOKEN: tokens.gatewayToken,
    SLACK_TOKEN: slack.token,
    SLACK_CHANNEL: slack.channel,
    SLACK_URL: slack.baseUrl,
  };
  return startProcess(path.join(folder, "webhooks.json5"), env, port);
}

async function runDemo(): Promise<void> {
  print(`Hookline listens on ${service.url}. Its configuration and state are in ${folder}.`);
  print("The agent is the built-in echo, and Slack is an emulator on this machine: no key and no network are needed.");

  const failedCheck = githubPayload("check_run", { action: "completed" });
  await show("Template: an issue was opened on GitHub", "github/issues", githubPayload("issues", { action: "opened" }));
  await show("Preset: two mails, one agent turn each", "mail", readMails());
  printTitle("The transform of the next request: transforms/check-run.ts");
  const before = readFileSync(transformFile, "utf8");
  print(before.trimEnd().replace(/^/gm, "  "));
  await show("Sandboxed TypeScript: a check failed on GitHub", "github/checks", failedCheck);

  const tookMs = await editTransform();
  printTitle(`The transform is edited. The service uses the new code after ${tookMs} ms, without a restart`);
  printChange(before, readFileSync(transformFile, "utf8"));
  await show("The same check again, with the new code", "github/checks", failedCheck);
  await killAndRestart();
}

/** The emulator has ended, so the configuration that is left does without Slack. */
function printNextSteps(): void {
  const config = path.join(folder, "webhooks.json5");
  const lines = readFileSync(config, "utf8").split("\n");
  writeFileSync(config, lines.filter((line) => !/slack/i.test(line)).join("\n"));
  const webhooks = (command: string): string => `  npm run -s webhooks -- ${command} --config ${config}`;
  printTitle("Continue with what the demo leaves");
  print(`  export HOOK_TOKEN=${tokens.hookToken} GATEWAY_TOKEN=${tokens.gatewayToken}`);
  print(`${webhooks("serve")} &`);
  for (const command of ["events list", "runs list", "sessions show main"]) print(webhooks(command));
  print(`  $EDITOR ${transformFile}   # takes effect when you save it`);
  print(`  rm -r ${folder}`);
  print("\nYour own hook: the quick start in README.md.");
}

/** Posts the payload, waits until it is done, and prints the result. */
async function show(title: string, hook: string, payload: unknown): Promise<void> {
  printTitle(title);
  const { status, body } = await hookline.post(hook, payload);
  printField("request", `POST /hooks/${hook} (${JSON.stringify(payload).length} bytes) → ${status}`);
  const event = await hookline.settled(body.eventId);
  printField("mapping", event.mapping);
  if (event.runs.length === 0) printField("action", event.status);
  for (const run of event.runs) {
    printField("action", `agent turn in session ${run.sessionKey}: ${run.action.message}`);
    printField("reply", run.reply);
    printField("summary", summaryOf(run, event.entries));
    const delivery = event.deliveries.find((candidate: { runId: string }) => candidate.runId === run.id);
    printField("delivery", `${delivery.state} to ${delivery.route.channel} ${delivery.route.to}`);
  }
}

/** Its beginning, without the safety boundary that surrounds the reply in it. */
function summaryOf(run: { id: string }, entries: { role: string; runId?: string; text: string }[]): string {
  const text = entries.find(({ role, runId }) => role === "system" && runId === run.id)?.text ?? "";
  const [first = ""] = text.replace(/SECURITY NOTICE[^]*?\n---\n/, "").split("\n");
  return `${first} … (in the main session, inside a safety boundary)`;
}

/** Kills the service while turns of a slow agent are running and waiting, and starts it again. */
async function killAndRestart(): Promise<void> {
  printTitle(`A crash: ${BURST} turns take half a second each, and the service is killed when the first has ended`);
  const issue = githubPayload("issues", { action: "opened" });
  const answers = await Promise.all(Array.from({ length: BURST }, () => hookline.post("slow", issue)));
  const accepted = answers.filter(({ status }) => status === 202).length;
  await waitFor(async () => (await hookline.api("/api/events?hook=slow&status=done")).events.length > 0);
  const running = (await hookline.api("/api/runs?state=running")).runs.length;
  await service.end("SIGKILL");
  printField("answers", `${accepted} × 202, then SIGKILL with ${running} turns running`);

  const restartedAt = performance.now();
  service = await start(Number(new URL(service.url).port));
  printField("restart", `on the same folder, listening after ${Math.round(performance.now() - restartedAt)} ms`);
  const events = await Promise.all(answers.map(({ body }) => hookline.settled(body.eventId)));
  const runs = events.flatMap((event) => event.runs).filter(({ state }) => state === "done");
  const sent = events.flatMap((event) => event.deliveries).filter(({ state }) => state === "sent");
  const again = runs.filter(({ attempts }) => attempts > 1);
  printField("runs", `${again.length} were interrupted and ran again, ${runs.length - again.length} ran once`);
  printField("result", `${runs.length} of ${BURST} turns done, ${sent.length} of ${BURST} replies sent`);
  if (runs.length < BURST || sent.length < BURST) throw new Error("work was lost");
}

/** Changes the message of the transform. Resolves to the milliseconds until the service uses it. */
async function editTransform(): Promise<number> {
  const { config } = await hookline.api("/api/status");
  const savedAt = performance.now();
  writeFileSync(transformFile, readFileSync(transformFile, "utf8").replace("message: `", "message: `Please triage: "));
  await waitFor(async () => (await hookline.api("/api/status")).config.generation > config.generation);
  return Math.round(performance.now() - savedAt);
}

function readMails(): unknown {
  return JSON.parse(readFileSync(path.join(import.meta.dirname, "../../presets/mail/samples/snippets.json"), "utf8"));
}
