/** Code that a user's compiler accepts or rejects. `npm run check:types` compiles this file; it never runs. */
import {
  type AgentDriver,
  createHookline,
  defineConfig,
  definePlugin,
  DriverError,
  type Hookline,
  type Transform,
  type TransformResult,
} from "../src/index.ts";

interface Order {
  id: number;
  lines: string[];
}

export const transforms: Transform<Order>[] = [
  ({ payload }) => ({ message: `Order ${payload.id}`, sessionKey: `order:${payload.id}`, channel: "slack" }),
  ({ payload }) => payload.lines.map((text) => ({ kind: "wake", text })),
  () => null,
  () => undefined,
  async ({ headers, now }) => ({ message: `${headers["x-shop"]} ${now}` }),
  // @ts-expect-error -- a misspelled field
  () => ({ mesage: "x" }),
  // @ts-expect-error -- a misspelled field in one of several actions
  () => [{ mesage: "x" }],
  // @ts-expect-error -- a field of another type
  ({ payload }) => ({ message: payload.id }),
  // @ts-expect-error -- a value that the field does not accept
  () => ({ message: "x", wakeMode: "later" }),
  // @ts-expect-error -- a text is not an action
  () => "hello",
  // @ts-expect-error -- a field that the input does not have
  ({ body }) => ({ message: body }),
  // @ts-expect-error -- a field that the payload does not have
  ({ payload }) => ({ message: payload.number }),
];

/** With an annotated result the compiler also finds a misspelled field beside right ones. */
export function misspelled(): TransformResult {
  // @ts-expect-error -- chanel
  return { message: "x", chanel: "slack" };
}

export async function start(): Promise<Hookline> {
  const hookline = await createHookline({ config: "webhooks.json5", port: 0, watch: false });
  const { url, port }: { url: string; port: number } = await hookline.listen();
  const response: Response = await hookline.handle(new Request(`${url}:${port}/hooks/wake`));
  await createHookline({ config: { hooks: { enabled: true, token: await response.text() } } });
  // @ts-expect-error -- a configuration is required
  await createHookline({ port: 0 });
  // @ts-expect-error -- unknown option
  await createHookline({ config: {}, ports: 1 });
  return hookline;
}

const agent: AgentDriver = {
  name: "parrot",
  async run({ message, sessionKey }, signal) {
    signal.throwIfAborted();
    if (message === "") throw new DriverError("Nothing to answer.", { retryable: false });
    return { text: `${sessionKey}: ${message}`, model: "parrot" };
  },
};

export const plugins = [
  definePlugin({
    name: "parrot",
    agents: { parrot: { schema: { type: "object" }, create: (_options, { name, log }) => (log.info(name), agent) } },
  }),
  // @ts-expect-error -- a plugin has a name
  definePlugin({ agents: {} }),
  // @ts-expect-error -- an agent has a method run
  definePlugin({ name: "x", agents: { x: { schema: { type: "object" }, create: () => ({}) } } }),
];

export const errors = [
  new DriverError("Busy.", { retryable: true, retryAfterMs: 1000, cause: new Error("503") }),
  // @ts-expect-error -- retryable is required
  new DriverError("Busy."),
  // @ts-expect-error -- the kinds of the first version are gone
  new DriverError("Busy.", "passing"),
];

export const configs = [
  defineConfig({ hooks: { mappings: [{ match: { path: "x" }, messageTemplate: "{{id}}" }] } }),
  // @ts-expect-error -- a misspelled key
  defineConfig({ hooks: { maping: [] } }),
];
