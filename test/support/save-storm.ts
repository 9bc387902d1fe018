import { setTimeout as sleep } from "node:timers/promises";
import { type Service, startService, withTokens } from "./service.ts";

export interface SaveStorm {
  service: Service;
  saves: number;
  requests: number;
  /** Answers but 202. */
  failed: number;
  /** Answers of texts that were not saved together. */
  mixed: number;
  /** The save that is used at the end. */
  last: number;
  /** How many of the saves were used at some time. */
  used: number;
  /** From the last save until it is used, in milliseconds. */
  lastMs: number;
}

/** Requests without a pause while the configuration, a transform and a module that it imports are saved together, again and again. */
export async function runSaveStorm({ saves, pauseMs }: { saves: number; pauseMs(): number }): Promise<SaveStorm> {
  const service = await startService({ config: toConfig(0), files: toModules(0), watch: true });
  const texts = new Set<string>();
  const statuses: number[] = [];
  const stop = new AbortController();
  const senders = [
    (async () => {
      while (!stop.signal.aborted) statuses.push((await service.post("x", {})).status);
    })(),
    (async () => {
      while (!stop.signal.aborted) texts.add(await readMessage(service));
    })(),
  ];
  for (let save = 1; save <= saves; save++) {
    for (const [name, text] of Object.entries(toModules(save))) service.write(name, text);
    service.write("webhooks.json5", JSON.stringify(withTokens(toConfig(save)), undefined, 2));
    await sleep(pauseMs());
  }
  const savedAt = performance.now();
  const whole = toMessage(saves);
  while ((await readMessage(service)) !== whole && performance.now() < savedAt + 30_000) await sleep(10);
  const lastMs = performance.now() - savedAt;
  stop.abort();
  await Promise.all(senders);
  const known = new Set(Array.from({ length: saves + 1 }, (_, save) => toMessage(save)));
  return {
    service,
    saves,
    requests: statuses.length,
    failed: statuses.filter((status) => status !== 202).length,
    mixed: [...texts].filter((text) => !known.has(text)).length,
    last: (await readMessage(service)) === whole ? saves : -1,
    used: known.intersection(texts).size - 1,
    lastMs,
  };
}

async function readMessage(service: Service): Promise<string> {
  const { actions } = await service.try("x", {});
  return `${actions[0].name} ${actions[0].message}`;
}

function toMessage(save: number): string {
  return `save ${save} transform ${save} library ${save}`;
}

function toConfig(save: number): object {
  const mapping = { match: { path: "x" }, name: `save ${save}`, transform: { module: "x.ts" }, deliver: false };
  return { hooks: { mappings: [mapping] } };
}

function toModules(save: number): Record<string, string> {
  return {
    "transforms/lib/library.ts": `export const library = "library ${save}";\n`,
    "transforms/x.ts": `import { library } from "./lib/library.ts";\nexport default () => ({ message: \`transform ${save} \${library}\` });\n`,
  };
}
