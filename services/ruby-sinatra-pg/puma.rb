# frozen_string_literal: true

require "etc"
require_relative "pipelining"

environment "production"
bind "tcp://#{ENV.fetch("HOST", "127.0.0.1")}:#{ENV.fetch("PORT", "8080")}?backlog=4096"
# A thread keeps its own connection to the database, so there are as many threads as connections.
connections = Integer(ENV.fetch("DATABASE_POOL", "16"))
processes = [Integer(ENV.fetch("WORKERS", Etc.nprocessors)), connections].min
workers processes
threads connections / processes, connections / processes
preload_app!
# Seconds; the default of 20 closes the connections of a slow load.
persistent_timeout 75
# Seconds; a request that is left half-sent does not hold up the stop for longer.
force_shutdown_after 5
# A stop by signal is no failure.
raise_exception_on_sigterm false
log_requests false
