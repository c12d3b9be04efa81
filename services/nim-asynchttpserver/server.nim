## hello and sequence on Nim's own asynchttpserver.
import std/[asyncdispatch, asynchttpserver, options, os, osproc, posix, strutils, uri]
import numbers

let text = newHttpHeaders({"Content-Type": "text/plain"})

proc answer(compute: proc (n: int): string, written: string): (HttpCode, string) =
  let n = parse(written)
  if n.isSome: (Http200, compute(n.get)) else: (Http400, "n must be an integer from 0 to 10000")

proc route(path: string): (HttpCode, string) =
  if path == "/api/test":
    return (Http200, "Hello, World!")
  if path.startsWith("/api/count/"):
    return answer(numbers.count, path["/api/count/".len..^1])
  if path.startsWith("/api/fib/"):
    return answer(numbers.fib, path["/api/fib/".len..^1])
  (Http404, "no such path")

proc handle(request: Request) {.async, gcsafe.} =
  {.gcsafe.}:
    # A reply to HEAD has no body, and asynchttpserver leaves that to the service.
    if request.reqMethod != HttpGet:
      await request.respond(Http405, "")
    else:
      let (status, body) = route(decodeUrl(request.url.path, decodePlus = false))
      await request.respond(status, body, text)

proc serve() {.async.} =
  # The kernel shares the connections out among the workers.
  let server = newAsyncHttpServer(reuseAddr = true, reusePort = true)
  server.listen(Port(parseInt(getEnv("PORT", "8080"))), getEnv("HOST", "127.0.0.1"))
  while true:
    if server.shouldAcceptRequest():
      await server.acceptRequest(handle)
    else:
      await sleepAsync(50) # out of file descriptors: some connections must end first

var children: seq[Process]

proc supervise(workers: int) =
  putEnv("WORKERS", "1")
  for _ in 1..workers:
    children.add(startProcess(getAppFilename(), options = {poParentStreams}))
  onSignal(SIGTERM):
    for child in children:
      child.terminate()
  for child in children:
    discard child.waitForExit()

let workers = parseInt(getEnv("WORKERS", $countProcessors()))
if workers == 1:
  # Each request is answered at once, so none is in flight.
  onSignal(SIGTERM):
    quit(0)
  waitFor serve()
else:
  supervise(workers)
