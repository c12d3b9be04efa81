// Progress that the server sends while a run goes on. Browsers open few connections to a server, for all tabs together, so a hidden
// tab closes its own.

import { useEffect, useState } from "preact/hooks";
import type { RunEvent } from "./api.tsx";

/** Pause before the next attempt if the browser itself gave up, ms. */
const RETRY_MS = 3000;

export interface Events {
  event: RunEvent | null;
  /** When the connection was lost, ms since 1970; null while there is one. */
  lost: number | null;
}

/** Receives the progress of a run until it ends. */
export function useRunEvents(run: string): Events {
  const [event, setEvent] = useState<RunEvent | null>(null);
  const [lost, setLost] = useState<number | null>(null);
  useEffect(() => {
    let source: EventSource | null = null;
    let retry: ReturnType<typeof setTimeout> | undefined;
    let ended = false;
    const close = () => {
      clearTimeout(retry);
      source?.close();
      source = null;
    };
    const connect = () => {
      close();
      if (ended || document.hidden) return;
      const opened = new EventSource(`/api/runs/${encodeURIComponent(run)}/events`);
      source = opened;
      opened.addEventListener("open", () => setLost(null));
      opened.addEventListener("error", () => {
        setLost((before) => before ?? Date.now());
        // After a refusal the browser does not try again.
        if (opened.readyState === EventSource.CLOSED) retry = setTimeout(connect, RETRY_MS);
      });
      opened.addEventListener("progress", (message) => {
        const news = JSON.parse((message as MessageEvent<string>).data) as RunEvent;
        setLost(null);
        setEvent(news);
        if (news.running) return;
        ended = true;
        close();
      });
    };
    connect();
    document.addEventListener("visibilitychange", connect);
    return () => {
      document.removeEventListener("visibilitychange", connect);
      close();
    };
  }, [run]);
  return { event, lost };
}
