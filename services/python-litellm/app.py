"""The proxy of LiteLLM, which reads config.yaml."""

from litellm.proxy.proxy_server import app

__all__ = ["app"]
