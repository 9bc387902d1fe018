import { readConfigText } from "../../config/read-config.ts";
import { toSentence } from "../../errors.ts";
import type { SetupPlan } from "../../mail/setup/plan-setup.ts";
import type { Program } from "../../program/build.ts";

/** What a person should know of a plan that can be carried out all the same, in sentences. */
export async function findWarnings(plan: SetupPlan, { config, warnings }: Program): Promise<string[]> {
  const ofMail = warnings.filter(({ key }) => key?.startsWith("hooks.mail"));
  const sentences = [...ofMail, ...(await findUnset(plan))].map(toSentence);
  const channels = Object.keys(config.channels).length + config.plugged.channels.size;
  return channels > 0 ? sentences : [...sentences, NO_CHANNEL];
}

const NO_CHANNEL =
  "No channel is configured: the agent's replies reach nobody until one is (“Agents and channels” in the README).";

/** With --no-check a plan may count on what is not set here; whoever serves it needs it. */
async function findUnset({ file, after, unwritten }: SetupPlan): Promise<Program["warnings"]> {
  return (await readConfigText(file, after, { env: process.env, unwritten })).problems;
}
