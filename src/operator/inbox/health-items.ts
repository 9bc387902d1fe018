import { toVisible } from "../../core/boundary/visible.ts";
import { toCommand } from "../../core/shared/text/command.ts";
import { toolSetOf } from "../../core/shared/text/text.ts";
import { toIso } from "../iso-times.ts";
import { type InboxItem, toActivity, toFacts, toLinks } from "./item.ts";

/** The kind of notes that say what does not work, each under the id of its item. */
export const HEALTH = "health";

export interface HealthNote {
  since: number;
  /** When it was seen last. */
  at: number;
  /** A sentence for the operator. */
  text: string;
  /** For a call: the digest of what was accepted. For a hook: the preset that can ask its sender. */
  about?: string;
}

/** Everything that does not work, as the service has noted it. Mailboxes that this node watches show more themselves. */
export function toHealthItems(notes: readonly { key: string; json: string }[]): InboxItem[] {
  return notes.map(({ key: id, json }): InboxItem => {
    const note: HealthNote = JSON.parse(json);
    const [kind = "", ...rest] = id.split(":");
    const { title, command, links = SYSTEM, actions = [] } = describe(kind, rest.join(":"), note);
    return {
      id,
      part: "down",
      title,
      subject: toVisible(note.text),
      since: toIso(note.since),
      blocks: [
        ...toFacts("service", { "Seen last": toIso(note.at), Command: command, Problem: toVisible(note.text) }),
        ...links,
      ],
      actions,
    };
  });
}

interface Described {
  title: string;
  command?: string;
  links?: InboxItem["blocks"];
  actions?: InboxItem["actions"];
}

function describe(kind: string, name: string, { about }: HealthNote): Described {
  const shown = toVisible(name);
  const path = encodeURIComponent(name);
  switch (kind) {
    case "tools":
      return { title: `Tools ${shown} cannot be reached`, actions: [tryNow(`/api/tools/${path}/try`)] };
    case "mailbox":
      return { title: `Mailbox ${shown} gives no mail`, actions: [tryNow(`/api/mailboxes/${path}/try`)] };
    case "tool-changed":
      return {
        title: `The call ${shown} differs from what was accepted`,
        command: toCommand("tools accept", toolSetOf(name)),
      };
    case "missed":
      return {
        title: `Events of ${shown} are missing`,
        links: toLinks({ "Show its requests": toActivity({ hook: name }) }),
        actions: [
          {
            id: "catch-up",
            label: "Catch up",
            method: "POST",
            path: "/api/events/catch-up",
            body: { preset: about ?? name, hook: name },
          },
        ],
      };
    default:
      return { title: "The service ends again and again" };
  }
}

export const SYSTEM = toLinks({ "Show the system": "system" });

export function tryNow(path: string): InboxItem["actions"][number] {
  return { id: "try", label: "Try now", method: "POST", path };
}
