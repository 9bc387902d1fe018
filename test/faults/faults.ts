/**
 * The long form: tens of thousands of hooks while the service is killed repeatedly. Prints the number of lost, duplicated
 * and out-of-order effects, and exits 1 if there are any.
 *
 *     npm run faults -- --seed 7 --hooks 20000 --kills 50
 *     npm run faults -- --store postgres --hooks 20000 --faults kill,stop,pause,cut,fast,immediate,away
 */
import { parseArgs } from "node:util";
import { NODE_FAULTS, runNodesCampaign } from "./campaign/nodes.ts";
import { type CampaignOptions, type CampaignReport, runCampaign } from "./campaign/campaign.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    hooks: { type: "string", default: "20000" },
    kills: { type: "string", default: "50" },
    store: { type: "string", default: "sqlite" },
    faults: { type: "string", default: NODE_FAULTS.join(",") },
  },
});
const seed = Number(values.seed);
const hooks = Number(values.hooks);
const kills = Number(values.kills);

console.log(`Seed ${seed}: repeat these kills with --seed ${seed}.`);
if (values.store === "postgres") await runNodes();
else {
  await run({ signal: "SIGKILL", hooks, kills, seed });
  await run({ signal: "SIGTERM", hooks: Math.ceil(hooks / 3), kills: Math.ceil(kills / 3), seed });
}

async function runNodes(): Promise<void> {
  const faults = NODE_FAULTS.filter((fault) => values.faults.split(",").includes(fault));
  const report = await runNodesCampaign({ hooks, faults, seed, awayMs: 30_000 });
  console.log(report);
  if (report.lost + report.duplicated + report.outOfOrder > 0) process.exitCode = 1;
}

async function run(options: CampaignOptions): Promise<void> {
  const report = await runCampaign(options);
  console.table({ [report.signal]: toRow(report) });
  if (!isClean(report)) process.exitCode = 1;
}

function toRow(report: CampaignReport): object {
  return {
    "hooks answered 2xx": report.hooks,
    "requests sent": report.requests,
    kills: report.kills,
    lost: report.lost,
    duplicated: report.duplicated,
    "out of order": report.outOfOrder,
    "repeated turns": report.turnsAgain,
    "repeated messages": report.messagesAgain,
    seconds: report.seconds,
  };
}

/** A kill may repeat a turn or message that was not recorded yet; a clean stop must not. */
function isClean(report: CampaignReport): boolean {
  const { lost, duplicated, outOfOrder, turnsAgain, messagesAgain, signal } = report;
  const again = signal === "SIGTERM" ? turnsAgain + messagesAgain : 0;
  return lost + duplicated + outOfOrder + again === 0;
}
