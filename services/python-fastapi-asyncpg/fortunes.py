"""The fortunes contract: a page with a table, made by Jinja2."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from fastapi.templating import Jinja2Templates

from database import Pool

router = APIRouter()
templates = Jinja2Templates(directory="templates")


@router.get("/fortunes", response_class=HTMLResponse)
async def fortunes(request: Request, nonce: str, pool: Pool) -> HTMLResponse:
    rows = [(row["id"], row["message"]) for row in await pool.fetch("select id, message from fortune")]
    rows.append((0, f"Additional fortune: {nonce}"))
    rows.sort(key=lambda row: row[1])
    return templates.TemplateResponse(request, "fortunes.html", {"fortunes": rows})
