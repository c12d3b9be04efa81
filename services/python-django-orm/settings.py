import os
from urllib.parse import urlsplit

database = urlsplit(os.environ["DATABASE_URL"])

DEBUG = False
ROOT_URLCONF = "urls"
# The load generator asks for an address, not for a name.
ALLOWED_HOSTS = ["*"]
APPEND_SLASH = False
USE_TZ = True
INSTALLED_APPS = ["shop"]
# Those of `startproject` that need neither sessions nor forms.
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "shop.middleware.DatabaseAway",
]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": database.hostname,
        "PORT": database.port,
        "USER": database.username,
        "PASSWORD": database.password,
        "NAME": database.path.lstrip("/"),
        # A thread keeps its connection. It is tried before each request, or a restart of the database would cost one on each.
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
    }
}
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "DIRS": ["templates"]}]
CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}
# The account contract alone has a Redis.
if "REDIS_URL" in os.environ:
    CACHES["default"] = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": os.environ["REDIS_URL"],
    }
