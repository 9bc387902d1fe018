import path from "node:path";
import { text } from "node:stream/consumers";
import {
  isReference,
  type NamedSecret,
  nameSecret,
  type SecretPlace,
} from "../../mail/setup/secret-place.ts";
import type { Target } from "../../mail/setup/target.ts";
import { ConfigError } from "../../errors.ts";
import { workingFolder } from "../locate.ts";
import { type Asker, type Choice, MissingAnswer, toFlag } from "./asker.ts";

export interface SecretQuestion {
  flag: "password" | "oauthClientSecret" | "oauthRefreshToken";
  /** `Password` */
  title: string;
  /** Name of the file in the state folder that it is kept in where it is known as text. */
  fileName: string;
  /** What the configuration says now. */
  current: unknown;
}

/** Asks where a secret is. One that is typed, piped, or stands in clear now, gets a file of its own. */
export async function askSecret(
  asker: Asker,
  question: SecretQuestion,
  target: Target,
): Promise<NamedSecret> {
  const ownFile = path.join(target.stateDir, question.fileName);
  const place = await findPlace(asker, question);
  if (place === undefined) return { reference: String(question.current) };
  return nameSecret(place, { baseDir: path.dirname(target.file), ownFile });
}

/** undefined: where it is now. */
async function findPlace(asker: Asker, question: SecretQuestion): Promise<SecretPlace | undefined> {
  const given = await readFlags(asker, question);
  if (given) return given;
  if (asker.person) return askPlace(asker, asker.person, question);
  if (isReference(question.current)) return undefined;
  if (typeof question.current === "string") return { kind: "text", text: question.current };
  const flags = (["Env", "File", "Stdin"] as const).map((end) => toFlag(`${question.flag}${end}`));
  throw new MissingAnswer(flags.join(", or "), `where the ${question.title.toLowerCase()} is`);
}

async function readFlags(
  { flags }: Asker,
  { flag, title }: SecretQuestion,
): Promise<SecretPlace | undefined> {
  const name = flags[`${flag}Env`];
  const file = flags[`${flag}File`];
  if (name !== undefined) return { kind: "env", name };
  if (file !== undefined) return { kind: "file", file: path.resolve(workingFolder(), file) };
  return flags[`${flag}Stdin`] ? { kind: "text", text: await readStandardInput(title) } : undefined;
}

async function readStandardInput(title: string): Promise<string> {
  const piped = (await text(process.stdin)).replace(/\r?\n$/, "");
  if (piped !== "") return piped;
  throw new ConfigError([{ message: `${title}: standard input is empty` }]);
}

async function askPlace(
  asker: Asker,
  person: NonNullable<Asker["person"]>,
  { flag, title, current }: SecretQuestion,
): Promise<SecretPlace | undefined> {
  const choices: Choice<SecretPlace["kind"] | "current">[] = [
    { value: "text", label: "I type it here", hint: "kept in a file for your user alone" },
    { value: "env", label: "In an environment variable" },
    { value: "file", label: "In a file" },
  ];
  if (isReference(current)) choices.unshift({ value: "current", label: "Where it is now", hint: current });
  const kind = await person.choose({ message: `${title}: where is it?`, choices });
  if (kind === "current") return undefined;
  if (kind === "text") return { kind, text: await person.secret(`${title} (it is not shown)`) };
  if (kind === "env") return { kind, name: await asker.text({ flag: `${flag}Env`, message: "Its name" }) };
  const file = await asker.text({ flag: `${flag}File`, message: "The file" });
  return { kind, file: path.resolve(workingFolder(), file) };
}
