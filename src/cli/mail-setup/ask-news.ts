import { partOf } from "../../mail/setup/target.ts";
import type { Asker } from "./asker.ts";
import { type Session, textOf } from "./session.ts";

type News = "poll" | "pull" | "push";

/** Asks how it becomes known that mail has come to a Gmail mailbox. Gives these keys of `hooks.mail.source`. */
export async function askNews({ asker, current }: Session): Promise<Record<string, unknown>> {
  const news = await asker.choose<News>({
    flag: "news",
    message: "How is new mail noticed?",
    choices: [
      { value: "poll", label: "Gmail is asked once a minute", hint: "nothing else is needed" },
      {
        value: "pull",
        label: "At once, pulled from Pub/Sub",
        hint: "a Google Cloud project, no public address",
      },
      {
        value: "push",
        label: "At once, pushed by Pub/Sub",
        hint: "a Google Cloud project and a public address",
      },
    ],
    initial: currentNews(asker, current),
  });
  if (news === "poll") return {};
  const topic = await askName(asker, "topic", textOf(current, "topic"));
  if (news === "pull")
    return { topic, subscription: await askName(asker, "subscription", textOf(current, "subscription")) };
  return { topic, push: await askPush(asker, current) };
}

/** Whoever names a subscription means that it is pulled. */
function currentNews({ flags }: Asker, current: Session["current"]): News {
  if (flags.subscription !== undefined) return "pull";
  if (flags.pushAudience !== undefined) return "push";
  if (current["subscription"] !== undefined) return "pull";
  return current["push"] === undefined ? "poll" : "push";
}

async function askPush(asker: Asker, current: Session["current"]): Promise<object> {
  const push = partOf(current, "push");
  const audience = await asker.text({
    flag: "pushAudience",
    message: "Audience of the push subscription",
    initial: textOf(push, "audience"),
  });
  const serviceAccount = await asker.text({
    flag: "pushServiceAccount",
    message: "Address of the service account that signs",
    initial: textOf(push, "serviceAccount"),
  });
  return { audience, serviceAccount };
}

function askName(asker: Asker, flag: "topic" | "subscription", initial: string | undefined): Promise<string> {
  const form = `projects/<project>/${flag}s/<name>`;
  return asker.text({
    flag,
    message: flag === "topic" ? `The topic that Gmail notifies, as ${form}` : `Its subscription, as ${form}`,
    initial,
    check: (answer) =>
      new RegExp(`^projects/[^/\\s]+/${flag}s/[^/\\s]+$`).test(answer) ? undefined : `expected ${form}`,
  });
}
