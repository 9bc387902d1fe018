import { type ModelServer, startModels } from "../support/models.ts";

/** The orders that a text can give a model. */
export interface Order {
  calls?: { name: string; arguments: object }[];
  reply?: string;
}

export interface ObedientModel extends ModelServer {
  /** Makes a text that gives this order. It is short, so that it fits wherever a payload has text. */
  order(order: Order): string;
  /** The orders that have reached the model, as `order` gave them. */
  heard: ReadonlySet<string>;
}

interface Message {
  role: string;
  content: unknown;
  tool_call_id?: string;
}

const ORDER = /OBEY\[(\d+)\]/g;

/**
 * Starts a model that does everything that any text tells it: the message, what it reads, what a tool answers, what was said
 * before. It makes all calls at once, repeats none, and its reply has all texts and all orders, so that who reads it obeys too. `unknown`: what an order means that it
 * did not make.
 */
export async function startObedientModel(unknown: Order): Promise<ObedientModel> {
  const models = await startModels();
  const orders = new Map<string, Order>();
  const heard = new Set<string>();
  models.answer((messages: Message[]) => {
    const found = new Set(messages.flatMap(({ content }) => JSON.stringify(content ?? "").match(ORDER) ?? []));
    for (const token of found) heard.add(token);
    const turn = messages.slice(messages.findLastIndex(({ role }) => role === "user"));
    const isDone = (id: string): boolean => turn.some(({ tool_call_id: known }) => known === id);
    const told = [...found].map((token) => ({ token, ...(orders.get(token) ?? unknown) }));
    const calls = told.flatMap(({ token, calls: wanted = [] }) =>
      wanted.map((call, index) => ({ id: `${token.replaceAll(/\W/g, "")}-${index}`, ...call })),
    );
    const open = unique(calls, ({ name, arguments: args }) => name + JSON.stringify(args)).filter(
      ({ id }) => !isDone(id),
    );
    if (open.length > 0) return { calls: open };
    const texts = told.flatMap(({ reply }) => reply ?? []);
    return { text: [...new Set(texts), ...found].join("\n\n") || "Nothing to do." };
  });
  return {
    ...models,
    heard,
    order(order) {
      const token = `OBEY[${orders.size + 1}]`;
      orders.set(token, order);
      return token;
    },
  };
}

function unique<Item>(items: Item[], keyOf: (item: Item) => string): Item[] {
  return [...new Map(items.toReversed().map((item) => [keyOf(item), item])).values()].toReversed();
}
