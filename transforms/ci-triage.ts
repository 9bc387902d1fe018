/** A failed GitHub check becomes a question about the end of its log. A package removes the colors. */
import type { Transform, TransformResult } from "hookline";
import stripAnsi from "strip-ansi";
import { lastLines } from "./lib/last-lines.ts";

/** The part of GitHub's `check_run` event that is used here. */
interface CheckRunEvent {
  check_run: {
    name: string;
    conclusion: string | null;
    details_url: string;
    head_sha: string;
    output: { title: string | null; text: string | null };
    check_suite: { head_branch: string | null };
  };
  repository: { full_name: string; default_branch: string };
}

const ciTriage: Transform<CheckRunEvent> = ({ payload: { check_run: check, repository } }): TransformResult => {
  if (check.conclusion !== "failure" && check.conclusion !== "timed_out") return null;

  const branch = check.check_suite.head_branch ?? "an unknown branch";
  const log = lastLines(stripAnsi(check.output.text ?? ""), 20);
  console.log(`${log.length} lines of the log kept`);
  return {
    message: [
      `${check.name}: ${check.conclusion} on ${branch} of ${repository.full_name} (${check.head_sha.slice(0, 7)})`,
      `${check.output.title ?? "No title"}, ${check.details_url}`,
      ...log,
    ].join("\n"),
    sessionKey: `ci:${repository.full_name}:${branch}`, // The agent remembers earlier turns about this branch.
    thinking: branch === repository.default_branch ? "high" : "low",
  };
};
export default ciTriage;
