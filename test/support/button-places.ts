/** Messages with buttons, as each service has them. */
import type { DiscordServer } from "./discord.ts";
import type { MattermostServer } from "./mattermost.ts";
import type { Pressed } from "./presses.ts";
import type { TelegramEmulator } from "./telegram.ts";
import type { SlackServer } from "./vendors/slack.ts";

export interface ButtonServers {
  slack: SlackServer;
  telegram: TelegramEmulator;
  discord: DiscordServer;
  mattermost: MattermostServer;
}

type Json = ReturnType<typeof JSON.parse>;

/** A message with its buttons, as its service has it. */
export interface Shown {
  id: string;
  text: string;
  buttons: { label: string; value: string }[];
}

export interface ButtonPlace {
  to(): string;
  /** In `by`, and as the service names them. */
  person: string;
  other: string;
  read(): Promise<Shown[]>;
  /** The texts that only the presser sees. */
  told(pressed: Pressed): unknown;
}

/** `servers`: called later. */
export function toButtonPlaces(servers: () => ButtonServers): Record<string, ButtonPlace> {
  return {
    slack: {
      to: () => servers().slack.channel,
      person: "T0ACME/U0ANN",
      other: "T0EVIL/U0ANN",
      read: async () =>
        (await servers().slack.sent()).map(({ ts, text, blocks }: Json) => ({
          id: `${servers().slack.channel}:${ts}`,
          text,
          buttons: (blocks?.[1]?.elements ?? []).map((button: Json) => ({
            label: button.text.text,
            value: button.value,
          })),
        })),
      // Posted to the presser alone.
      told: () => undefined,
    },
    telegram: {
      to: () => servers().telegram.chat,
      person: "222",
      other: "223",
      read: async () =>
        servers()
          .telegram.sent()
          .map(({ text, message_id: id, reply_markup }: Json) => ({
            id: `${servers().telegram.chat}:${id}`,
            text,
            buttons: (reply_markup?.inline_keyboard[0] ?? []).map((key: Json) => ({
              label: key.text,
              value: key.callback_data,
            })),
          })),
      told: ({ body }) => body?.["text"],
    },
    discord: {
      to: () => servers().discord.channel,
      person: "80351110224678912",
      other: "80351110224678913",
      read: async () =>
        servers()
          .discord.sent()
          .map(({ id, content, components }: Json) => ({
            id,
            text: content,
            buttons: (components?.[0]?.components ?? []).map((button: Json) => ({
              label: button.label,
              value: button.custom_id,
            })),
          })),
      told: ({ body }: Json) => body?.data?.content,
    },
    mattermost: {
      to: () => servers().mattermost.channel,
      person: "ann",
      other: "eve",
      read: async () =>
        servers()
          .mattermost.posts()
          .map(({ id, message, props }: Json) => ({
            id,
            text: message,
            buttons: (props?.attachments?.[0]?.actions ?? []).map((action: Json) => ({
              label: action.name,
              value: action.integration.context.hookline,
            })),
          })),
      told: ({ body }) => body?.["ephemeral_text"],
    },
  };
}
