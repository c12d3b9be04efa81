// Replaces `prony serve`: the same URLs, with answers that a test can change while a page shows them. Requests for
// changes are recorded, and change nothing.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { built } from "./browser.ts";
import { withMetrics } from "./synthetic.ts";

/** As `prony serve` reads it; an address that is not text stays as it is. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

export class FakeServer {
  /** The answer of each URL under /api. */
  readonly answers = new Map<string, unknown>();
  /** Every URL that was requested. */
  readonly asked: string[] = [];
  /** Every change that was requested. */
  readonly changes: { what: string; origin: string | undefined; body: string }[] = [];
  /** The reason for refusing the next change. */
  refusal: string | null = null;
  /** Whether it answers nothing, as if it had ended. */
  down = false;
  /** URLs that fail for a reason that may pass. */
  readonly broken = new Set<string>();
  private readonly listeners = new Set<ServerResponse>();
  private readonly server: Server;

  private constructor() {
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(built())?.[1] ?? "";
    this.server = createServer((request, response) => {
      const path = decoded(request.url ?? "/");
      if (this.down) {
        request.socket.destroy();
        return;
      }
      if (request.method !== "GET") {
        this.change(request, response, `${request.method} ${path}`);
        return;
      }
      this.asked.push(path);
      if (path.endsWith("/events")) {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(": here\n\n");
        this.listeners.add(response);
        response.on("close", () => this.listeners.delete(response));
      } else if (this.broken.has(path)) {
        response.writeHead(500, { "content-type": "application/json" }).end(JSON.stringify({ error: "the disk is full" }));
      } else if (path === "/api/answers") {
        response.writeHead(200, { "content-type": "application/x-ndjson" });
        for (const answer of (this.answers.get(path) as object[] | undefined) ?? []) response.write(`${JSON.stringify(answer)}\n`);
        response.end();
      } else if (path.startsWith("/api/")) {
        const answer = this.answers.get(path);
        response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
        response.end(JSON.stringify(answer ?? { error: `there is no ${path}` }));
      } else {
        response.writeHead(200, { "content-type": "text/html; charset=utf-8", "content-security-policy": `${policy}; frame-ancestors 'none'`, "referrer-policy": "no-referrer" });
        response.end(withMetrics(built()));
      }
    });
  }

  private change(request: IncomingMessage, response: ServerResponse, what: string): void {
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", () => {
      this.changes.push({ what, origin: request.headers.origin, body });
      if (this.refusal === null) response.writeHead(204).end();
      else response.writeHead(409, { "content-type": "application/json" }).end(JSON.stringify({ error: this.refusal }));
      this.refusal = null;
    });
  }

  static async start(): Promise<FakeServer> {
    const fake = new FakeServer();
    await new Promise<void>((done) => fake.server.listen(0, "127.0.0.1", done));
    return fake;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Number of pages that listen for events. */
  get listening(): number {
    return this.listeners.size;
  }

  /** Ends all connections of listening pages. */
  hangUp(): void {
    for (const listener of this.listeners) listener.destroy();
  }

  tell(news: unknown): void {
    for (const listener of this.listeners) listener.write(`event: progress\ndata: ${JSON.stringify(news)}\n\n`);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}
