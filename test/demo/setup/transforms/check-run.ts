interface CheckRun {
  check_run: { name: string; conclusion: string | null; head_sha: string };
  repository: { full_name: string };
}

export default function checkRun({ payload }: { payload: CheckRun }) {
  const { name, conclusion, head_sha } = payload.check_run;
  if (conclusion !== "failure") return null;
  return { message: `${name} failed on ${payload.repository.full_name}@${head_sha.slice(0, 7)}.` };
}
