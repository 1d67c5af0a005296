"""Serves the lab's page on 127.0.0.1, logs what the page reports, and passes pokes to it.

The first line on stdout is the page's URL. Pokes come by POST /poke or by the poke file.
"""

import json
import queue
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lab import common  # the checkout is found by the path above

HERE = Path(__file__).resolve().parent
KEEP_ALIVE_S = 1.0
FILES = {"/": ("page.html", "text/html"), "/page.js": ("page.js", "text/javascript")}


class PageServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, log: common.EventLog) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.log = log
        self.listeners: list[queue.SimpleQueue[str]] = []

    def poke(self, line: str) -> None:
        for listener in self.listeners:
            listener.put(line)

    def watch(self, file: common.PokeFile) -> None:
        while True:
            for line in file.take():
                self.poke(line)
            time.sleep(common.POLL_MS / 1000)


class Handler(BaseHTTPRequestHandler):
    server: PageServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/pokes":
            self._stream_pokes()
        elif path in FILES:
            name, kind = FILES[path]
            self._answer(200, (HERE / name).read_bytes(), kind)
        else:
            self._answer(404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/poke":
            self.server.poke(body.strip())
        else:
            event = json.loads(body)
            self.server.log(event["widget"], event["event"], event.get("value"))
        self._answer(204)

    def _answer(self, status: int, body: bytes = b"", kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream_pokes(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.server.listeners.append(lines)
        try:
            while True:
                try:
                    data = f"data: {lines.get(timeout=KEEP_ALIVE_S)}\n\n"
                except queue.Empty:
                    data = ":\n\n"  # a comment, which fails once the page is gone
                self.wfile.write(data.encode())
                self.wfile.flush()
        except OSError:
            self.server.listeners.remove(lines)
            self.server.log("window", "closed")
            self.close_connection = True

    def log_message(self, *_arguments: object) -> None:
        """Say nothing on stderr."""


def main() -> None:
    options = common.options(common.parser(__doc__ or "").parse_args())
    server = PageServer(common.EventLog(options.log))
    query = {"set": options.set, "title": options.title}
    if options.set == "big":
        query["rows"] = str(options.rows)
    if options.tell:
        query["tell"] = "yes"
    if options.poke:
        threading.Thread(target=server.watch, args=(common.PokeFile(options.poke),), daemon=True).start()
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}/?{urlencode(query)}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
