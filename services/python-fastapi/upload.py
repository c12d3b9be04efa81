"""The upload contract: a body is counted and hashed as it comes."""

import hashlib

from fastapi import APIRouter, HTTPException, Request
from pydantic import BaseModel

router = APIRouter()

MOST = 20 * 1024 * 1024


class Upload(BaseModel):
    bytes: int
    sha256: str


@router.post("/upload")
async def upload(request: Request) -> Upload:
    digest = hashlib.sha256()
    received = 0
    # What is too much is read all the same, and so the connection goes on.
    async for piece in request.stream():
        received += len(piece)
        if received <= MOST:
            digest.update(piece)
    if received > MOST:
        raise HTTPException(413)
    return Upload(bytes=received, sha256=digest.hexdigest())
