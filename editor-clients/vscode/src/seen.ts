// Which completions were shown: each run's once, whatever the server repeats after a crash.

/** Keys that are remembered; the oldest go first. */
const LIMIT = 1_024;

export class SeenRuns {
  private readonly keys: Set<string>;

  constructor(known: readonly string[]) {
    this.keys = new Set(known.slice(-LIMIT));
  }

  /** Whether this run is new; it is not from then on. */
  add(agentId: string, run: number): boolean {
    const key = `${agentId}/${run}`;
    if (this.keys.has(key)) return false;
    this.keys.add(key);
    for (const oldest of this.keys) {
      if (this.keys.size <= LIMIT) break;
      this.keys.delete(oldest);
    }
    return true;
  }

  /** What to remember. */
  all(): string[] {
    return [...this.keys];
  }
}
