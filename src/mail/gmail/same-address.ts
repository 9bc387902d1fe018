/** Whether two addresses are one mailbox: Gmail's own people write theirs with and without dots, and with either domain. */
export function sameAddress(one: string, other: string): boolean {
  return toMailbox(one) === toMailbox(other);
}

function toMailbox(address: string): string {
  const [, name, domain] = /^(.*)@(.*)$/s.exec(address.toLowerCase()) ?? [];
  if (name === undefined || (domain !== "gmail.com" && domain !== "googlemail.com"))
    return address.toLowerCase();
  return `${name.replaceAll(".", "")}@gmail.com`;
}
