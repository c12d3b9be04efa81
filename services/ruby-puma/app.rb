# frozen_string_literal: true

require "cgi/escape"
require "uri"
require_relative "numbers"

# hello, sequence and snoop, as a Rack application.
class App
  TEXT = "text/plain"
  HTML = "text/html; charset=utf-8"
  SEQUENCE = %r{\A/api/(count|fib)/(10000|[0-9]{1,4})\z}

  def call(env)
    path = URI::DEFAULT_PARSER.unescape(env["PATH_INFO"]).scrub
    type, body = route(path, env)
    return reply(404, TEXT, "not found") unless type
    return reply(405, TEXT, "method not allowed") unless %w[GET HEAD].include?(env["REQUEST_METHOD"])

    reply(200, type, body.call)
  end

  private

  def route(path, env)
    case path
    when "/" then [HTML, -> { snoop(env) }]
    when "/api/test" then [TEXT, -> { "Hello, World!" }]
    when SEQUENCE
      operation, n = $1.to_sym, $2.to_i
      [TEXT, -> { Numbers.public_send(operation, n) }]
    end
  end

  def reply(status, type, body)
    [status, { "content-type" => type, "content-length" => body.bytesize.to_s }, [body]]
  end

  # Rack has each name once, its values joined with a comma, in the manner of CGI.
  def snoop(env)
    lines = env.filter_map do |key, value|
      name = key.delete_prefix("HTTP_") if key.start_with?("HTTP_")
      name ||= key if %w[CONTENT_TYPE CONTENT_LENGTH].include?(key)
      next unless name && key != "HTTP_VERSION"

      "HEADER: #{CGI.escapeHTML(name.tr("_", "-").downcase)} = #{CGI.escapeHTML(value.dup.force_encoding("UTF-8").scrub)}\n"
    end
    "<!DOCTYPE html>\n<title>Snoop</title>\n<pre>\n#{lines.join}</pre>\n"
  end
end
