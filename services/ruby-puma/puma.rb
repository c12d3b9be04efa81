# frozen_string_literal: true

require "etc"

environment "production"
bind "tcp://#{ENV.fetch("HOST", "127.0.0.1")}:#{ENV.fetch("PORT", "8080")}?backlog=4096"
if ENV.key?("TLS_PORT")
  ssl_bind ENV.fetch("HOST", "127.0.0.1"), ENV["TLS_PORT"], cert: ENV["TLS_CERT"], key: ENV["TLS_KEY"], backlog: 4096
end
workers Integer(ENV.fetch("WORKERS", Etc.nprocessors))
# Ruby runs one thread of a process at a time; more of them help only those that wait.
threads 5, 5
preload_app!
# Seconds; the default of 20 closes the connections of a slow load.
persistent_timeout 75
# Seconds; a request that is left half-sent does not hold up the stop for longer.
force_shutdown_after 5
# A stop by signal is no failure.
raise_exception_on_sigterm false
# `max_fast_inline` keeps its default: Puma 5.6 closes the connection of each request beyond it while others wait to be
# accepted, and with 1 that is every third reply of our check.
log_requests false
