interface AgentOptions {
  env: Record<string, string | undefined>;
  pid: string;
  write(line: string): void;
  exit(): void;
}

export function createAgent(options: AgentOptions): (line: string) => void;
