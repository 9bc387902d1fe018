import { cleanLine } from "./clean.ts";
import { parseAddresses } from "./mime.ts";
import { repairText } from "./repair-text.ts";

export interface Person {
  /** As a person reads it: `Ann Lee <ann@example.com>`. */
  display: string;
  /** In lower case; empty where there is a name alone. */
  address: string;
}

/** The first people that the values of an address header name, those of its groups among them. */
export function toPeople(headers: string[], most: number): Person[] {
  const people: Person[] = [];
  for (const header of headers) {
    if (people.length >= most) break;
    people.push(
      ...parseAddresses(header)
        .slice(0, most - people.length)
        .map(toPerson),
    );
  }
  return people.filter(({ display }) => display);
}

function toPerson(mailbox: { name: string; address: string }): Person {
  const address = cleanLine(mailbox.address);
  const name = cleanLine(repairText(mailbox.name));
  return {
    display: cleanLine(name && address ? `${quote(name)} <${address}>` : name || address),
    address: address.toLowerCase(),
  };
}

/** A name that holds an address, or could be taken for two, stands in quotes: `"boss@example.com" <else@example.net>`. */
function quote(name: string): string {
  return /[<>@,;:"]/.test(name) ? `"${name.replaceAll('"', "'")}"` : name;
}
