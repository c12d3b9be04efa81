# frozen_string_literal: true

require "etc"

environment "production"
bind "tcp://#{ENV.fetch("HOST", "127.0.0.1")}:#{ENV.fetch("PORT", "8080")}?backlog=4096"
workers Integer(ENV.fetch("WORKERS", Etc.nprocessors))
# Ruby runs one thread of a process at a time; more threads help only while others wait.
threads 5, 5
preload_app!
# Seconds; with the default of 20, a slow load loses its connections.
persistent_timeout 75
# Seconds; an incomplete request would delay the shutdown for longer.
force_shutdown_after 5
# A shutdown by signal is not a failure.
raise_exception_on_sigterm false
# `max_fast_inline` keeps its default: beyond it, Puma 5.6 closes the connection while others wait to be
# accepted; with 1, that is every third reply of our check.
log_requests false
