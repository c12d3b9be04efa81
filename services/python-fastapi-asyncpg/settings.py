"""Settings from the environment, and the division of connections among processes."""

import os

DATABASE_URL = os.environ["DATABASE_URL"]
_pool = int(os.environ.get("DATABASE_POOL", "16"))
# Each process has its own pool, with at least one connection.
WORKERS = min(int(os.environ.get("WORKERS") or len(os.sched_getaffinity(0))), _pool)
CONNECTIONS = _pool // WORKERS

# Only for the account contract.
REDIS_URL = os.environ.get("REDIS_URL")
