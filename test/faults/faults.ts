/**
 * The long form: tens of thousands of hooks while the service is killed again and again. Prints what was lost, what came
 * twice and what came in the wrong order, and exits 1 where that is anything at all.
 *
 *     npm run faults -- --seed 7 --hooks 30000 --kills 60
 */
import { parseArgs } from "node:util";
import { type CampaignReport, runCampaign } from "./campaign/campaign.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    hooks: { type: "string", default: "30000" },
    kills: { type: "string", default: "60" },
  },
});
const seed = Number(values.seed);
const hooks = Number(values.hooks);
const kills = Number(values.kills);

console.log(`Seed ${seed}: the same kills again with --seed ${seed}.`);
const reports = [
  await runCampaign({ signal: "SIGKILL", hooks, kills, seed }),
  await runCampaign({ signal: "SIGTERM", hooks: Math.ceil(hooks / 3), kills: Math.ceil(kills / 3), seed }),
];
console.table(Object.fromEntries(reports.map((report) => [report.signal, toRow(report)])));
process.exitCode = reports.every(isClean) ? 0 : 1;

function toRow(report: CampaignReport): object {
  return {
    "hooks answered 2xx": report.hooks,
    "requests sent": report.requests,
    kills: report.kills,
    lost: report.lost,
    duplicated: report.duplicated,
    "out of order": report.outOfOrder,
    "turns again": report.turnsAgain,
    "messages again": report.messagesAgain,
    seconds: report.seconds,
  };
}

/** A kill between a turn or a message and its record makes it happen again; a stop that waits must not. */
function isClean(report: CampaignReport): boolean {
  const { lost, duplicated, outOfOrder, turnsAgain, messagesAgain, signal } = report;
  const again = signal === "SIGTERM" ? turnsAgain + messagesAgain : 0;
  return lost + duplicated + outOfOrder + again === 0;
}
