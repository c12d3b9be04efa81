"""The same on uvloop, the event loop of document 004."""

import asyncio

import uvloop

import app

if __name__ == "__main__":
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    app.main(app.create_app())
