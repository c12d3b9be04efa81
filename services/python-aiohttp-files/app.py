"""Files by aiohttp, which sends siblings that were compressed in advance wherever there are some."""

import os

from aiohttp import web


async def gunicorn_app():
    application = web.Application()
    application.router.add_static("/files", os.environ["FILES_DIR"])
    return application
