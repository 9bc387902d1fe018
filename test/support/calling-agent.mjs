/**
 * A plugin whose agent calls by itself. It obeys each line `call NAME ARGUMENTS` of its prompt, all of them at once after a line
 * `together`. `fail`: its first attempt fails after its calls · `forget`: it remembers no turn that waited · `gone`: it gets no answer
 * to its first call, and repeats it · `leave`: it does not wait for answers.
 */
const turns = new Map();
const failed = new Set();

export default {
  name: "caller",
  agents: { caller: { schema: { type: "object" }, create: () => ({ name: "caller", makesCalls: () => true, run }) } },
};

async function run({ runId, message, calls }) {
  const known = message.includes("\nforget") ? undefined : turns.get(runId);
  const prompt = known === undefined ? message : calls.continueFrom(known);
  const answers = await obey(prompt, calls);
  if (calls?.isWaiting()) turns.set(runId, calls.made());
  if (message.includes("\nfail") && !failed.has(runId)) {
    failed.add(runId);
    throw new Error("The first attempt fails.");
  }
  const names = (calls?.tools ?? []).map(({ name }) => name).join(" ");
  return { text: [`tools: ${names}`, ...answers, ...(known === undefined ? [] : [`told: ${prompt}`])].join("\n") };
}

async function obey(prompt, calls) {
  const asked = Array.from(prompt.matchAll(/^call (\S+) (.*)$/gm), ([, name, args]) => ({
    name,
    arguments: JSON.parse(args),
  }));
  const never = new AbortController().signal;
  const answers = [];
  const call = async (one, gone = never) => answers.push((await calls.execute(one, gone)).text.trim());
  if (prompt.includes("\ngone")) {
    const gone = new AbortController();
    const lost = calls.execute(asked[0], gone.signal);
    await new Promise((resolve) => setTimeout(resolve));
    gone.abort();
    await lost;
  }
  if (prompt.includes("\nleave")) void asked.map((one) => call(one));
  else if (prompt.includes("\ntogether")) await Promise.all(asked.map((one) => call(one)));
  else for (const one of asked) await call(one);
  return answers;
}
