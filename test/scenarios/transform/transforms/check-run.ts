import { describe } from "./lib/describe.ts";

interface Input {
  payload: { check_run: { name: string; conclusion: string | null } };
  secrets: Record<string, string>;
}

export default async function checkRun({ payload, secrets }: Input) {
  const { name, conclusion } = payload.check_run;
  console.log("check", name, conclusion);
  if (conclusion !== "failure") return null;
  return { message: await describe(secrets.TEAM ?? "", name), name: "CI", sessionKey: `check:${name}` };
}
