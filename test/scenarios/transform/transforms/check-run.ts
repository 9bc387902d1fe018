import { describe } from "./lib/describe.ts";

export default async function checkRun({
  payload,
  secrets,
}: {
  payload: any;
  secrets: Record<string, string>;
}) {
  const { name, conclusion } = payload.check_run;
  console.log("check", name, conclusion);
  if (conclusion !== "failure") return null;
  return { message: await describe(secrets.TEAM ?? "", name), name: "CI", sessionKey: `check:${name}` };
}
