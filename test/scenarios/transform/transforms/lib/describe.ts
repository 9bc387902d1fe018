export async function describe(team: string, name: string): Promise<string> {
  return `${team}: ${name} failed`;
}
