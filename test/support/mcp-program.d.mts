interface ProgramOptions {
  record(call: string): void;
  write(line: string): void;
  exit(): void;
}

export function createMcpProgram(options: ProgramOptions): (line: string) => void;
