/**
 * `npm run demo`: the main job on real input, for a person to read. The service runs as a separate process. The demo posts
 * GitHub's example payloads and two mails, prints what each led to, and leaves a folder to continue in.
 */
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createClient, waitFor } from "../support/client.ts";
import { githubPayload } from "../support/github.ts";
import { startProcess } from "../support/process.ts";
import { startSlack } from "../support/slack.ts";
import { print, printField, printTitle } from "./print.ts";

const tokens = { hookToken: "demo-hook-token-0123456789", gatewayToken: "demo-gateway-token-0123456789" };
const folder = mkdtempSync(path.join(tmpdir(), "hookline-demo-"));
const transformFile = path.join(folder, "transforms/check-run.ts");
cpSync(path.join(import.meta.dirname, "setup"), folder, { recursive: true });

const slack = await startSlack();
const service = await startProcess(path.join(folder, "webhooks.json5"), {
  HOOK_TOKEN: tokens.hookToken,
  GATEWAY_TOKEN: tokens.gatewayToken,
  SLACK_TOKEN: slack.token,
  SLACK_CHANNEL: slack.channel,
  SLACK_URL: slack.baseUrl,
});
const hookline = createClient(service.url, tokens);
try {
  await runDemo();
} finally {
  await service.end("SIGTERM");
  await slack.close();
}
printNextSteps();

async function runDemo(): Promise<void> {
  print(`Hookline listens on ${service.url}. Its configuration and state are in ${folder}.`);
  print("The agent is the built-in echo, and Slack is an emulator on this machine: no key and no network are needed.");

  const failedCheck = githubPayload("check_run", { action: "completed" });
  await show("Template: an issue was opened on GitHub", "github/issues", githubPayload("issues", { action: "opened" }));
  await show("Preset: two mails, one agent turn each", "mail", readMails());
  printTitle("The transform of the next request: transforms/check-run.ts");
  print(readFileSync(transformFile, "utf8").trimEnd().replace(/^/gm, "  "));
  await show("Sandboxed TypeScript: a check failed on GitHub", "github/checks", failedCheck);

  const tookMs = await editTransform();
  print(`\ntransforms/check-run.ts was edited. The service used the new code after ${tookMs} ms, without a restart.`);
  await show("The same check again, with the new code", "github/checks", failedCheck);
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
    printField("summary", `${summaryOf(run, event.entries)}\n(in the main session, inside a safety boundary)`);
    const delivery = event.deliveries.find((candidate: { runId: string }) => candidate.runId === run.id);
    printField("delivery", `${delivery.state} to ${delivery.route.channel} ${delivery.route.to}`);
  }
}

/** Without the safety boundary that surrounds the reply in it. */
function summaryOf(run: { id: string }, entries: { role: string; runId?: string; text: string }[]): string {
  const text = entries.find(({ role, runId }) => role === "system" && runId === run.id)?.text ?? "";
  return text.replace(/SECURITY NOTICE[^]*?\n---\n/, "").replace(/\n<<<END[^]*/, "");
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
