"""What the environment says, and how the connections are shared out."""

import os

DATABASE_URL = os.environ["DATABASE_URL"]
_pool = int(os.environ.get("DATABASE_POOL", "16"))
# Each process has a pool of its own, of one connection at least.
WORKERS = min(int(os.environ.get("WORKERS") or len(os.sched_getaffinity(0))), _pool)
CONNECTIONS = _pool // WORKERS

# For the account contract alone.
REDIS_URL = os.environ.get("REDIS_URL")
