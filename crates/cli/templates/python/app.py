import os

from aiohttp import web


async def hello(request):
    return web.Response(text="Hello, World!", content_type="text/plain")


app = web.Application()
app.add_routes([web.get("/api/test", hello)])

web.run_app(
    app,
    host=os.environ.get("HOST", "127.0.0.1"),
    port=int(os.environ.get("PORT", "8080")),
    access_log=None,  # no log line per request
    print=None,
    shutdown_timeout=1,  # idle connections do not hold up the stop
)
