import path from "node:path";
import { createApi, createCommentChannel, definePlugin, DriverError, defineSignature, defineVendor } from "hookline";

const SERVICE = "Acme";

/** The only function that knows the address of the API, and what its refusals ask for. */
function openAcme({ token, baseUrl = "https://api.acme.example" }: { token: string; baseUrl?: string }) {
  const advice = new Map([
    [401, "Check channels.acme.token."],
    [403, "Give the token access to the project."],
  ]);
  return createApi({ service: SERVICE, baseUrl, token, advice });
}

export const acme = defineVendor({
  service: SERVICE,
  presets: [path.join(import.meta.dirname, "presets/acme")],
  signatures: {
    acme: defineSignature({
      header: "x-acme-signature",
      timestamp: { header: "x-acme-time", unit: "s" },
      signed: ["timestamp", ".", "body"],
    }),
  },
  channels: {
    acme: {
      schema: {
        type: "object",
        additionalProperties: false,
        required: ["token"],
        properties: { token: { type: "string" }, baseUrl: { type: "string" } },
      },
      create: (options: { token: string; baseUrl?: string }) =>
        createCommentChannel(
          {
            name: "acme",
            limit: 10_000,
            checkRecipient(to) {
              if (!/^[A-Z]+-\d+$/.test(to))
                throw new DriverError("Expected a task such as WEB-7.", { retryable: false });
            },
            render: ({ text }, toMark) => ({ text: `${text}\n${toMark()}` }),
            async add(to, body, call) {
              const { id } = (await call("POST", `/tasks/${to}/comments`, body)).body;
              if (typeof id !== "number") throw new DriverError("Acme gave no id.", { retryable: true });
              return `${id}`;
            },
            async edit(to, id, body, call) {
              return (await call("PATCH", `/tasks/${to}/comments/${id}`, body, [404])).status !== 404;
            },
            async find(to, mark, call) {
              const { items = [] } = await call("GET", `/tasks/${to}/comments`);
              const found = items.find(({ text }) => typeof text === "string" && text.includes(mark));
              return found && String(found.id);
            },
          },
          openAcme(options),
        ),
    },
  },
  webhooks: {
    secretBy: "us",
    tokenVariables: ["ACME_TOKEN"],
    tokenNeeds: "access to webhooks",
    connect({ signal, ...access }) {
      const open = openAcme(access);
      const list = async () => {
        const { items } = await (await open(signal))("GET", "/webhooks");
        if (!items) throw new DriverError("Acme gave no list.", { retryable: true });
        return items;
      };
      return {
        find: async (url) => (await list()).filter((hook) => hook.url === url).map(({ id }) => String(id)),
        async create({ url, secret, events }) {
          const { id } = (await (await open(signal))("POST", "/webhooks", { url, secret, events })).body;
          if (typeof id !== "number") throw new DriverError("Acme gave no id.", { retryable: true });
          return { id: `${id}` };
        },
        async update(id, { url, secret, events }) {
          await (
            await open(signal)
          )("PATCH", `/webhooks/${id}`, { url, secret, events });
        },
        async remove(id) {
          await (
            await open(signal)
          )("DELETE", `/webhooks/${id}`, undefined, [404]);
        },
        async health(id) {
          const hook = (await list()).find((one) => String(one.id) === id);
          return { isEnabled: hook?.isActive === true, notes: [] };
        },
      };
    },
  },
  readMessage({ payload: { type, task, comment } }) {
    if (type !== "comment.created" || !isObject(task) || !isObject(comment) || !isObject(comment.author))
      return undefined;
    const { id, text, time, isEdited } = comment;
    const { id: person, isBot } = comment.author;
    if (isEdited !== false || isBot !== false || !isText(text) || !isText(task.key)) return undefined;
    if (typeof id !== "number" || typeof person !== "number" || typeof time !== "number") return undefined;
    return { text, person: `${person}`, to: task.key, at: time, messageId: `${id}` };
  },
});

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

export default definePlugin({ name: "acme", vendors: { acme } });
