"""Files by Starlette's StaticFiles."""

import os

from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

app = Starlette(routes=[Mount("/files", StaticFiles(directory=os.environ["FILES_DIR"]))])
